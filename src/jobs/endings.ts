import type { StoreConnection } from '../store/connection.ts'
import type { BatchNews } from '../store/job-batches.ts'
import * as settle from '../store/jobs/settle.ts'
import { completeAndCount, countEnded } from './members.ts'

/** How an attempt ended, to be written down. */
export type Ending =
  | ({ kind: 'completed'; /** Why it left without its work. */ left?: string } & settle.Completion)
  | ({ kind: 'postponed' } & settle.Setback)
  | ({ kind: 'buried' } & settle.Burial)

/** What to write down, for whom. */
interface EndingsOrder {
  endings: readonly Ending[]
  emptyClaims: readonly string[]
  workerId: string
  /** How long the one statement that members take may wait for a lock. */
  lockMs?: number | undefined
}

/**
 * Writes endings down, and lets in what waits behind their keys. Gives the ids of those that were still ours. Anything
 * but plain completions takes more than one statement, which belong into one transaction.
 */
export async function writeEndings(
  connection: StoreConnection,
  { endings, emptyClaims, workerId, lockMs }: EndingsOrder,
): Promise<{ ids: number[]; admitted: number; news: BatchNews[] }> {
  const done = endings.filter((ending) => ending.kind === 'completed')
  const setbacks = endings.filter((ending) => ending.kind === 'postponed')
  const burials = endings.filter((ending) => ending.kind === 'buried')
  const others = [
    ...(setbacks.length === 0 ? [] : await settle.postpone(connection, { setbacks, workerId })),
    ...(burials.length === 0 ? [] : await settle.bury(connection, { burials, workerId })),
  ]
  const order = { done, emptyClaims }
  const membersAlone = others.length === 0 && done.some(({ member }) => member)
  const completed = membersAlone
    ? await completeAndCount(connection, { ...order, lockMs })
    : { ...(await settle.complete(connection, order)), news: [] }
  // Once for all of them: who counts twice in a transaction could wait for one who waits for him.
  const ended = completed.batches.map((batch) => ({ batch_id: batch, outcome: 'succeeded' }))
  const news = [...completed.news, ...(await countEnded(connection, [...others, ...ended]))]
  const keys = [...completed.keys, ...others.flatMap(({ key }) => (key === null ? [] : [key]))]
  const [behind] = keys.length === 0 ? [] : await settle.admitBehind(connection, { keys })
  const called = news.filter(({ event }) => event === 'called').length
  const admitted = (behind?.admitted ?? 0) + called
  return { ids: [...completed.ids, ...others.map(({ id }) => id)], admitted, news }
}
