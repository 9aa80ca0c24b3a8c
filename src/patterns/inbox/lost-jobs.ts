import type { JobQueue } from '../../jobs/queue.ts'
import type { Telemetry } from '../../telemetry/telemetry.ts'
import type { Database } from '../../store/database.ts'
import { onConnection } from '../../store/connection.ts'
import { assignJobs, lockLost, lookAfter, markFailed, type WaitingMessage } from '../../store/inbox-chores.ts'
import type { InboxDefinition } from './define.ts'
import { messageJob } from './processing.ts'

/** What has waited less than this needs no look: its job has hardly had its turn. */
const ageMs = 60_000
const perPage = 1_000
/** Clocks of servers that took over from each other differ by less. */
const clockDifferenceMs = 86_400_000

interface Deps {
  database: Database
  telemetry: Telemetry
  queue: JobQueue
}

/** Where to go on looking; the beginning is before everything. */
export type Place = { at: string; id: number }
export const beginning: Place = { at: '-infinity', id: 0 }

/**
 * Looks at one page of waiting messages. Those whose job ended without success have failed; those whose job is nowhere
 * get a new one. Gives where to go on, and whether it found anything.
 */
export async function lookForLost(
  inbox: InboxDefinition,
  after: Place,
  deps: Deps,
): Promise<{ next: Place; found: boolean }> {
  const { name } = inbox
  const page = await lookAfter(deps.database.control, { name, after, ageMs, limit: perPage })
  const ended = page.filter(({ alive }) => !alive)
  const dead = await deadJobs(ended, deps)
  const hasFailed = ({ job_id: jobId }: WaitingMessage): boolean => jobId === null || dead.has(jobId)
  const failed = ended.filter(hasFailed)
  const lost = ended.filter((message) => !hasFailed(message))
  if (failed.length > 0) {
    const [ids, keys] = [failed.map(({ id }) => id), failed.map((message) => message.key_hash)]
    const marked = await markFailed(deps.database.control, { inbox: name, ids, keys })
    const ours = new Set(marked.map(({ id }) => id))
    for (const { id: messageId, job_id: jobId } of failed)
      if (ours.has(messageId)) deps.telemetry.emit('inbox.failed', { inbox: name, messageId, jobId })
  }
  if (lost.length > 0) await enqueueAgain(inbox, lost, deps)
  const last = page.at(-1)
  const next = page.length < perPage || last === undefined ? beginning : { at: last.at, id: last.id }
  return { next, found: lost.length > 0 && next !== beginning }
}

/** Which jobs of these messages ended without success, at the earliest when the first message came. */
async function deadJobs(messages: readonly WaitingMessage[], { queue }: Deps): Promise<ReadonlySet<number>> {
  const ids = messages.flatMap(({ job_id: jobId }) => jobId ?? [])
  const [oldest] = messages
  if (oldest === undefined || ids.length === 0) return new Set()
  return queue.read('dead', { ids, since: new Date(Date.parse(oldest.at) - clockDifferenceMs) })
}

/** New jobs for messages whose old ones are gone, in one transaction with the note which job it is now. */
async function enqueueAgain(inbox: InboxDefinition, lost: readonly WaitingMessage[], deps: Deps): Promise<void> {
  const { database, queue, telemetry } = deps
  const jobs = await database.work.transaction(async (transaction) => {
    const connection = onConnection(transaction, database.control.schema)
    const messages = await lockLost(connection, { inbox: inbox.name, lost })
    if (messages.length === 0) return 0
    const orders = await Promise.all(
      messages.map(async ({ id, key_hash: key, at, payload }) => ({
        ...messageJob(inbox, inbox.limit === undefined ? undefined : await inbox.read(payload)),
        args: JSON.stringify({ id: Number(id), key, at }),
      })),
    )
    const rows = await queue.enqueue(orders, { tx: transaction })
    const assigned = messages.map(({ id, at }, i) => ({ id, at, jobId: rows[i]?.id ?? 0 }))
    await assignJobs(connection, { assigned })
    return messages.length
  })
  if (jobs > 0) telemetry.emit('inbox.healed', { inbox: inbox.name, messages: jobs })
}
