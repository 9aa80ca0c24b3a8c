import type { StoreConnection } from '../store/connection.ts'
import * as settle from '../store/jobs/settle.ts'

/** How an attempt ended, to be written down. */
export type Ending =
  | ({ kind: 'completed'; /** Why it left without its work. */ left?: string } & settle.Completion)
  | ({ kind: 'postponed' } & settle.Setback)
  | ({ kind: 'buried' } & settle.Burial)

/**
 * Writes endings down, and lets in what waits behind their keys. Gives the ids of those that were still ours. Anything
 * but plain completions takes more than one statement, which belong into one transaction.
 */
export async function writeEndings(
  connection: StoreConnection,
  { endings, emptyClaims, workerId }: { endings: readonly Ending[]; emptyClaims: readonly string[]; workerId: string },
): Promise<{ ids: number[]; admitted: number }> {
  const done = endings.filter((ending) => ending.kind === 'completed')
  const setbacks = endings.filter((ending) => ending.kind === 'postponed')
  const burials = endings.filter((ending) => ending.kind === 'buried')
  const others = [
    ...(setbacks.length === 0 ? [] : await settle.postpone(connection, { setbacks, workerId })),
    ...(burials.length === 0 ? [] : await settle.bury(connection, { burials, workerId })),
  ]
  const completed = await settle.complete(connection, { done, emptyClaims })
  const keys = [...completed.keys, ...others.flatMap(({ key }) => (key === null ? [] : [key]))]
  const [behind] = keys.length === 0 ? [] : await settle.admitBehind(connection, { keys })
  return { ids: [...completed.ids, ...others.map(({ id }) => id)], admitted: behind?.admitted ?? 0 }
}
