import type { StandardSchemaV1 } from '@standard-schema/spec'
import { SluiceError } from '../../errors.ts'
import { defineJob } from '../../jobs/define.ts'
import type { JobDefinition, TransactionalContext } from '../../jobs/definition.ts'
import { JobOutcome, retryOn } from '../../jobs/policy.ts'
import type { Unbound } from '../../jobs/queue.ts'
import { storable } from '../../std/storable.ts'
import { onConnection, type StoreConnection } from '../../store/connection.ts'
import { take, unmark } from '../../store/inbox.ts'
import type { InboxDefinition } from './define.ts'

/** What the job of a message is enqueued with; written by `sluice.inbox_receive`. */
export interface MessageArgs {
  id: number
  key: string
  at: string
}

/** What processing needs of the one who knows the database. */
export interface ProcessingDeps {
  control: () => Promise<StoreConnection>
  /** Called when a job begins with its message. */
  onBegun: (jobId: number, message: { inbox: string; id: number; keyHash: string }) => void
  /** Called before the commit, of which the end of the job tells. */
  onPerformed: (jobId: number, message: { inbox: string; id: number; key: string }) => void
}

/** The stored message cannot be processed by today's code, however often it is tried. */
class MessageUnfit extends Error {
  override readonly name = 'MessageUnfit'
}

const schema: StandardSchemaV1<MessageArgs, MessageArgs> = {
  '~standard': {
    version: 1,
    vendor: 'sluice',
    validate(value) {
      const { id, key, at } = (value ?? {}) as Partial<MessageArgs>
      const fits = Number.isSafeInteger(id) && typeof key === 'string' && typeof at === 'string'
      return fits
        ? { value: value as MessageArgs }
        : { issues: [{ message: 'messages of an inbox are enqueued by receiving them' }] }
    },
  },
}

const jobNameOf = (inbox: string): string => `inbox.${inbox}`

/** The job that processes a message of this inbox, without its args. */
export function messageJob(inbox: InboxDefinition, payload: unknown): Unbound {
  const { name, queue, limit } = inbox
  const job = { job: jobNameOf(name), queue, priority: 'normal', unique: null } as const
  if (limit === undefined) return job
  const key = inbox.limitKeyOf(payload)
  if (typeof key === 'string' && key !== '' && storable(key, 1_000) === key)
    return { ...job, key: { name: key, limit } }
  throw new SluiceError('PAYLOAD_INVALID', {
    message: `The inbox "${name}" cannot take this message: its concurrency key must be a text of 1 to 1,000 characters. Nothing was written.`,
    details: { name },
  })
}

/** The job behind an inbox: marks the message and does what it asks for, in one transaction. */
export function processingJob(inbox: InboxDefinition, deps: ProcessingDeps): JobDefinition<MessageArgs> {
  return defineJob({
    name: jobNameOf(inbox.name),
    queue: inbox.queue,
    args: schema,
    onError: [retryOn(MessageUnfit, { attempts: 1 }), ...inbox.onError],
    retry: inbox.retry,
    timeout: inbox.timeout,
    transaction: true,
    perform: (context) => process(inbox, deps, context),
  })
}

async function process(
  inbox: InboxDefinition,
  deps: ProcessingDeps,
  { args, tx, job, signal, enqueue, log }: TransactionalContext<MessageArgs>,
): Promise<JobOutcome | undefined> {
  const connection: StoreConnection = onConnection(tx, (await deps.control()).schema)
  const ref = { id: args.id, inbox: inbox.name, keyHash: args.key, at: args.at }
  deps.onBegun(job.id, { inbox: inbox.name, id: args.id, keyHash: args.key })
  const [message] = await take(connection, ref)
  // Done by another job in its place, when this one was taken for lost.
  if (message === undefined) return undefined
  const { key, payload } = message
  if (!message.there || key === null) throw new MessageUnfit('its payload was dropped with the history of its day')
  const read = await inbox.read(payload).catch((error: unknown) => {
    throw new MessageUnfit('its payload does not fit the definition any more', { cause: error })
  })
  const returned = await inbox.perform({ payload: read, key, tx, job, signal, enqueue, log })
  if (returned instanceof JobOutcome) {
    await unmark(connection, { ...ref, state: returned.kind === 'snooze' ? 'waiting' : 'failed' })
    return returned
  }
  deps.onPerformed(job.id, { inbox: inbox.name, id: args.id, key })
  return undefined
}
