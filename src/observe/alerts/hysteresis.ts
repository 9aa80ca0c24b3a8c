/** What one look says of a rule: it is broken, all is well, or it is too near to tell. */
export type Verdict = 'broken' | 'near' | 'calm'

/** Where a rule stands. */
export interface Standing {
  firing: boolean
  /** Looks in a row that spoke for a change. */
  streak: number
}

/** One odd look is no alarm, and one good look no all-clear. */
const [toFire, toClear] = [2, 6]

/** Where a rule stands after one more look. */
export function after({ firing, streak }: Standing, verdict: Verdict): Standing & { changed: boolean } {
  const against = firing ? verdict === 'calm' : verdict === 'broken'
  const looks = against ? streak + 1 : 0
  const changed = looks >= (firing ? toClear : toFire)
  return changed ? { firing: !firing, streak: 0, changed } : { firing, streak: looks, changed }
}

/** A value far enough below its limit, or in the way of it, or beyond. */
export function verdictOn(value: number, limit: number): Verdict {
  if (value >= limit) return 'broken'
  return value > 0.8 * limit ? 'near' : 'calm'
}
