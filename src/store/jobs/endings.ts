import type { Ending } from '../../jobs/ending.ts'
import type { Telemetry } from '../../telemetry/telemetry.ts'
import type { StoreConnection } from '../connection.ts'
import type { Database } from '../database.ts'
import { completeMembers, membersBack, membersEnded, type BatchNews, type Tally } from '../job-batches.ts'
import * as control from './control.ts'
import { quarantinePoison } from './rescue.ts'
import * as settle from './settle.ts'

/** What to write down, for whom. */
export interface EndingsOrder {
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
  // Once per transaction: counting twice can deadlock.
  const ended = completed.batches.map((batch) => ({ batch_id: batch, outcome: 'succeeded' }))
  const news = [...completed.news, ...(await countEnded(connection, [...others, ...ended]))]
  const keys = [...completed.keys, ...others.flatMap(({ key }) => (key === null ? [] : [key]))]
  const [behind] = keys.length === 0 ? [] : await settle.admitBehind(connection, { keys })
  const called = news.filter(({ event }) => event === 'called').length
  const admitted = (behind?.admitted ?? 0) + called
  return { ids: [...completed.ids, ...others.map(({ id }) => id)], admitted, news }
}

/** A job that has ended, with the batch of jobs that it was a member of, if any. */
interface Ended {
  batch_id?: number | string | null
  outcome?: string
}

/** How many members of each batch of jobs are among these, by how they ended. */
function tallyOf(ended: readonly Ended[]): Tally[] {
  const tallies = new Map<number, Tally>()
  for (const { batch_id: id, outcome } of ended) {
    if (id === null || id === undefined) continue
    const batch = Number(id)
    const tally = tallies.get(batch) ?? { batch, succeeded: 0, failed: 0, died: 0 }
    if (outcome === 'succeeded') tally.succeeded += 1
    else tally.failed += 1
    if (outcome === 'dead' || outcome === 'quarantined') tally.died += 1
    tallies.set(batch, tally)
  }
  return [...tallies.values()]
}

/** Counts the members among jobs that have just ended; in the transaction in which they did. */
async function countEnded(connection: StoreConnection, ended: readonly Ended[]): Promise<BatchNews[]> {
  const tallies = tallyOf(ended)
  if (tallies.length === 0) return []
  const [counted] = await membersEnded(connection, { tallies })
  return counted?.news ?? []
}

/** Completes jobs of which some are members, and counts those, in one statement. */
async function completeAndCount(
  connection: StoreConnection,
  order: Parameters<typeof completeMembers>[1],
): Promise<settle.Settled & { news: BatchNews[] }> {
  const [settled] = await completeMembers(connection, order)
  const ids = settled?.ids ?? null
  const numbers = ids === null ? [] : ids.split(',').map(Number)
  return { ids: numbers, keys: settled?.keys ?? [], batches: [], news: settled?.news ?? [] }
}

/** What a verb did to jobs, and what that meant for their batches. */
export interface Acted {
  touched: control.Touched[]
  news: BatchNews[]
}

/** Called in the transaction of a verb, with the jobs that it had an effect on. */
export type Note = (transaction: StoreConnection, touched: readonly { id: number }[]) => Promise<void>

/** Ends jobs that nobody runs. */
export async function endWaiting(
  database: Database,
  { from, ...order }: Parameters<typeof control.endWaiting>[1] & control.JobsFrom,
  note: Note,
): Promise<Acted> {
  await control.setAsideMembers(database.control, { ids: order.ids })
  return database.control.transaction(async (transaction) => {
    const locked = from === null ? undefined : await control.lockWaiting(transaction, { ids: order.ids, from })
    const ids = locked?.map(({ id }) => id) ?? order.ids
    const [ended] = await control.endWaiting(transaction, { ...order, ids })
    const touched = ended?.touched ?? []
    await note(transaction, touched)
    return { touched, news: ended?.news ?? [] }
  })
}

/** Takes up again jobs that ended without success. A batch of jobs that was over because of them is not any more. */
export async function retryDead(database: Database, order: control.JobsFrom, note: Note): Promise<Acted> {
  return database.control.transaction(async (transaction) => {
    const touched = await control.retryDead(transaction, order)
    await note(transaction, touched)
    const tallies = tallyOf(touched)
    const [back] = tallies.length === 0 ? [] : await membersBack(transaction, { tallies })
    return { touched, news: back?.news ?? [] }
  })
}

/** Isolates jobs on which workers died again and again. */
export async function isolatePoison(
  database: Database,
  crashes: number,
): Promise<{ poison: Awaited<ReturnType<typeof quarantinePoison>>; news: BatchNews[] }> {
  return database.control.transaction(async (transaction) => {
    const poison = await quarantinePoison(transaction, { crashes })
    const ended = poison.map(({ batch_id }) => ({ batch_id, outcome: 'quarantined' }))
    return { poison, news: await countEnded(transaction, ended) }
  })
}

/** Says what happened to batches of jobs, once it is committed. */
export function reportBatches(telemetry: Telemetry, news: readonly BatchNews[]): void {
  for (const { event, ...payload } of news) telemetry.emit(`job-batch.${event}`, payload)
}
