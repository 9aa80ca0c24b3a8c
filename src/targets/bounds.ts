/** Keys that are whole numbers: they can be compared, and places between them found, without asking the database. */
import type { Key } from '../store/operations.ts'
import type { Walk } from './walk.ts'

/** How many rows lie between keys that are whole numbers, as of the last analyze. */
export interface Bounds {
  rows: number
  /** Equally many rows lie between each two of them. */
  bounds: readonly bigint[]
}

const wholeNumbers = new Set(['smallint', 'integer', 'bigint'])

/** Whether a walk is along one column of whole numbers, over all rows. */
export function isWhole({ cursor: { columns, types }, only }: Walk): boolean {
  return columns.length === 1 && only === undefined && wholeNumbers.has(types[0] ?? '')
}

/** Whether the one comes before the other, where keys are whole numbers. */
export function isBelow(a: Key, b: Key): boolean {
  return numberOf(a) < numberOf(b)
}

export function numberOf([value = '']: Key): bigint {
  return BigInt(value)
}

/**
 * The key up to which about this many rows lie after `lower`. No further than the last bound: how the rows lie that came
 * later is not known. Undefined: nothing is known of what follows.
 */
export function keyAfter({ rows, bounds }: Bounds, lower: Key | null, count: number): bigint | undefined {
  const [first, last] = [bounds[0], bounds.at(-1)]
  if (first === undefined || last === undefined) return undefined
  const from = BigInt(lower?.[0] ?? first)
  if (from >= last) return undefined
  const perBucket = rows / (bounds.length - 1)
  let [at, wanted] = [from < first ? first : from, count]
  for (let i = bounds.findLastIndex((bound) => bound <= at); i < bounds.length - 1; i++) {
    const [begin, end] = [bounds[i] ?? first, bounds[i + 1] ?? last]
    const rest = perBucket * (Number(end - at) / Number(end - begin))
    if (wanted <= rest) return at + BigInt(Math.max(1, Math.round((Number(end - at) * wanted) / rest)))
    wanted -= rest
    at = end
  }
  return last
}
