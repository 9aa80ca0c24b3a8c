/** Finds the stretches of a batch: outside of the transaction that changes them, to keep that one short. */
import type { Connection } from '../../store/connection.ts'
import type { Database } from '../../store/database.ts'
import { sameKey, type KeyWindow } from '../walk.ts'
import type { Stretch, Work } from '../work.ts'
import { firstStride } from './strides.ts'
import { countRows, keyAt } from './window.ts'

/**
 * The next window of up to `size` rows after the checkpoint. The walk is over keys alone: a filter here would make the
 * database search on and on for matches.
 */
export async function nextWindow(
  by: Connection,
  { walk }: Pick<Work, 'walk'>,
  { lower, upper, size }: KeyWindow & { size: number },
): Promise<Stretch> {
  const key = await keyAt(by, { walk, window: { lower, upper }, count: size })
  if (key !== null) return { window: { lower, upper: key }, rows: size }
  return { window: { lower, upper }, rows: await countRows(by, walk, { lower, upper }) }
}

/** The window after one that is about to be worked on, looked for meanwhile; undefined: there is none, or not yet. */
export async function windowBeyond(
  { control }: Pick<Database, 'control'>,
  work: Pick<Work, 'walk'>,
  { after, end, size }: { after: Stretch; end: KeyWindow['upper']; size: number },
): Promise<Stretch | undefined> {
  if (size < 1 || sameKey(after.window.upper, end)) return undefined
  // What cannot be found now is looked for again in its turn, and then errors count.
  return nextWindow(control, work, { lower: after.window.upper, upper: end, size }).catch(() => undefined)
}

/** The first of the transactions in which a window is done. */
export async function inStrides({ work: by }: Pick<Database, 'work'>, work: Work, found: Stretch): Promise<Stretch> {
  return work.strides.of === 1 ? found : { ...found, stride: await firstStride(by, work, found) }
}
