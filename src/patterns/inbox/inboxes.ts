/**
 * Inboxes: messages from systems that send them again when in doubt.
 *
 * The model. A message is known by the key that its source gives it. Receiving it inserts that key into a table with a
 * unique index, and payload and job with it, in one transaction; then it is answered. A job processes it later.
 *
 * The invariants. Of any number of deliveries of a key, at once or months apart, one is new. The answer "new" is given
 * after the commit. A message is marked as processed in the transaction of what its handler does through `tx`, under a
 * lock on its row: both or neither. A delivery of a key that is known writes nothing and waits for no handler, unless
 * its payload is another one: that is kept beside, and told.
 *
 * On a crash before the commit of the receipt nothing is there and the source sends again; after it, the source sends
 * again, too, and is told "duplicate". On a crash of the handler its job is tried again. Should the job itself be lost,
 * because somebody emptied the queue, the message still waits in its table: any worker that knows the inbox finds it
 * and enqueues a new job.
 *
 * Decisions.
 * - A repeated delivery writes nothing to the row of its key, because a handler may hold that row locked for as long as
 *   it runs. Payloads that differ have a table of their own.
 * - Keys are not partitioned, payloads are. A unique index over partitions would have to contain the day, and a key
 *   could then be accepted twice. Keys are narrow and deleted in small batches; payloads are dropped by the day.
 */
import { SluiceError } from '../../errors.ts'
import type { JobDefinition } from '../../jobs/definition.ts'
import type { JobQueue } from '../../jobs/queue.ts'
import type { Registry } from '../../runtime/registry.ts'
import type { ErrorRecord } from '../../std/error-record.ts'
import { storable } from '../../std/storable.ts'
import { didYouMean } from '../../std/suggest.ts'
import { Coalescer } from '../../store/coalescer.ts'
import type { Connection } from '../../store/connection.ts'
import type { Database } from '../../store/database.ts'
import * as store from '../../store/inbox.ts'
import { markFailed } from '../../store/inbox-chores.ts'
import { findMessage, listInboxes, oldestMessages } from '../../store/inbox-views.ts'
import type { AnyEvent, Telemetry } from '../../telemetry/telemetry.ts'
import type { InboxDefinition } from './define.ts'
import { hashOf, keyParts, keyText, type InboxKey } from './key.ts'
import { storePayload } from './payload.ts'
import { messageJob, processingJob, type MessageArgs } from './processing.ts'
import { inboxStatusOf, messageOf, type InboxMessage, type InboxStatus } from './status.ts'

/** Choices for a message. */
export interface ReceiveOptions {
  /** What the source calls the message, where that is not in the payload. */
  key?: InboxKey
  /** Take it in as part of this transaction of yours: it is there when, and only when, that commits. */
  tx?: Connection
}

/** What became of a delivery. */
export interface Receipt {
  /** `duplicate`: the key is known; whether it is processed yet does not matter. */
  status: 'new' | 'duplicate'
  /** The id of the message, the same for all deliveries of its key. */
  id: number
  /** The key came first with another payload; that one counts, and this one is kept beside. */
  differs: boolean
}

interface Deps {
  database: () => Promise<Database>
  telemetry: Telemetry
  queue: JobQueue
  registry: Registry<InboxDefinition>
}

interface Incoming {
  message: store.NewMessage
  job: ReturnType<typeof messageJob>
}

/** One statement takes so many messages. */
const perStatement = 200

/** Inboxes: take messages in, and look at what became of them. */
export class Inboxes {
  /** @internal The jobs behind the inboxes of the configuration. */
  readonly jobs: readonly JobDefinition<MessageArgs>[]
  readonly #deps: Deps
  readonly #plain: Coalescer<Incoming, store.ReceivedRow>
  /** Of messages with a concurrency key the first call comes first. */
  readonly #inOrder: Coalescer<Incoming, store.ReceivedRow>
  /** Messages that jobs in this process have begun with. */
  readonly #begun = new Map<number, { inbox: string; id: number; keyHash: string }>()
  /** Messages whose jobs have not ended yet in this process. */
  readonly #performed = new Map<number, { inbox: string; id: number; key: string }>()

  constructor(deps: Deps) {
    this.#deps = deps
    const pass = (incoming: Incoming[], lockMs: number): Promise<store.ReceivedRow[]> => this.#receive(incoming, lockMs)
    const patienceMs = async (): Promise<number> => (await deps.database()).options.timeouts.lockMs
    this.#plain = new Coalescer(pass, { most: perStatement, flights: 2, patienceMs })
    this.#inOrder = new Coalescer(pass, { most: perStatement, flights: 1, patienceMs })
    this.jobs = deps.registry.definitions.map((inbox) =>
      processingJob(inbox, {
        control: async () => (await deps.database()).control,
        onBegun: (jobId, message) => this.#begun.set(jobId, message),
        onPerformed: (jobId, message) => this.#performed.set(jobId, message),
      }),
    )
    if (this.jobs.length > 0) deps.telemetry.onAny((event) => this.#hear(event))
  }

  /** Takes a message in, or says that it is known. Processing begins once that is committed. */
  async receive<Input>(inbox: InboxDefinition<Input>, payload: Input, options: ReceiveOptions = {}): Promise<Receipt> {
    const { name } = inbox
    const incoming = await this.#incoming(inbox, payload, options.key)
    const coalescer = incoming.job.key === undefined ? this.#plain : this.#inOrder
    const row = options.tx === undefined ? await coalescer.add(incoming) : await this.#receiveIn(options.tx, incoming)
    const { duplicate, differs } = row
    const [id, { key }] = [Number(row.id), incoming.message]
    const { telemetry } = this.#deps
    if (!duplicate) telemetry.emit('inbox.received', { inbox: name, messageId: id, key })
    else if (differs) telemetry.emit('inbox.differed', { inbox: name, messageId: id, key })
    else telemetry.emit('inbox.duplicate', { inbox: name, messageId: id, key })
    return { status: duplicate ? 'duplicate' : 'new', id, differs }
  }

  /** All inboxes: those that have got something, and those of the configuration. */
  async list(): Promise<InboxStatus[]> {
    const found = (await listInboxes((await this.#deps.database()).control, { name: null })).map(inboxStatusOf)
    const missing = this.#deps.registry.names.filter((name) => !found.some((one) => one.name === name))
    return [...found, ...missing.map((name) => inboxStatusOf({ ...nothing, name }))].toSorted((a, b) =>
      a.name < b.name ? -1 : 1,
    )
  }

  /** One inbox with the messages that have waited longest. */
  async get(name: string, { limit = 10 }: { limit?: number } = {}): Promise<InboxStatus & { oldest: InboxMessage[] }> {
    const { control } = await this.#deps.database()
    const known = storable(name, 100)
    const [found] = await listInboxes(control, { name: known })
    if (found === undefined && !this.#deps.registry.has(known)) throw await this.#unknown(known)
    const oldest = await oldestMessages(control, { name: known, limit: Math.min(Math.max(1, limit), 1_000) })
    return { ...inboxStatusOf(found ?? { ...nothing, name: known }), oldest: oldest.map(messageOf) }
  }

  /** The message of a key; undefined when the key is not known, or not any more. */
  async find(inbox: InboxDefinition | string, key: InboxKey): Promise<InboxMessage | undefined> {
    const name = storable(typeof inbox === 'string' ? inbox : inbox.name, 100)
    const { control } = await this.#deps.database()
    const [found] = await findMessage(control, { name, keyHash: hashOf(keyParts(name, key)) })
    return found === undefined ? undefined : messageOf(found)
  }

  /** @internal Says that a request was refused. */
  refused(inbox: string, refusal: { status: number; error: ErrorRecord }): void {
    this.#deps.telemetry.emit('inbox.refused', { inbox, ...refusal })
  }

  /** All checks; nothing is written before they passed. */
  async #incoming(inbox: InboxDefinition, given: unknown, givenKey: unknown): Promise<Incoming> {
    const { name, keepMs } = inbox
    const stored = storePayload(name, given)
    const payload = await inbox.read(stored)
    const parts = keyParts(name, givenKey ?? inbox.keyOf(payload))
    const job = messageJob(inbox, payload)
    const message = {
      inbox: name,
      keyHash: hashOf(parts),
      payloadHash: hashOf(stored),
      keepMs,
      key: keyText(parts),
      job: JSON.stringify(job),
      payload: JSON.stringify(stored),
    }
    return { message, job }
  }

  async #receive(incoming: readonly Incoming[], lockMs: number): Promise<store.ReceivedRow[]> {
    const messages = incoming.map(({ message }) => message)
    const jobs = incoming.map(({ job }) => job)
    return this.#deps.queue.enqueue(jobs, {
      record: async (connection, notify) => store.receiveAlone(connection, { messages, notify, lockMs }),
    })
  }

  async #receiveIn(tx: Connection, { message, job }: Incoming): Promise<store.ReceivedRow> {
    const [row] = await this.#deps.queue.enqueue([job], {
      tx,
      record: async (connection, notify) => store.receive(connection, { messages: [message], notify }),
    })
    return row as store.ReceivedRow
  }

  /** A message is processed when its job has ended well, and that is committed. */
  #hear({ event, payload }: AnyEvent): void {
    if (!event.startsWith('job.') || event === 'job.started' || event === 'job.logged') return
    const { jobId } = payload as { jobId: number }
    const begun = this.#begun.get(jobId)
    this.#begun.delete(jobId)
    // Should this fail, or the process die first, upkeep finds the message a minute later.
    if (begun !== undefined && endings.has(event)) this.#fail(begun, jobId).catch(() => undefined)
    const message = this.#performed.get(jobId)
    if (message === undefined) return
    this.#performed.delete(jobId)
    if (event !== 'job.finished') return
    const { inbox, id: messageId, key } = message
    this.#deps.telemetry.emit('inbox.processed', { inbox, messageId, key, jobId })
  }

  /** The message of a job that ended without success does not wait any more. */
  async #fail({ inbox, id, keyHash }: { inbox: string; id: number; keyHash: string }, jobId: number): Promise<void> {
    const { control } = await this.#deps.database()
    const marked = await markFailed(control, { inbox, ids: [id], keys: [keyHash] })
    if (marked.length > 0) this.#deps.telemetry.emit('inbox.failed', { inbox, messageId: id, jobId })
  }

  async #unknown(name: string): Promise<SluiceError> {
    const known = (await this.list()).map((inbox) => inbox.name)
    return new SluiceError('INBOX_NOT_FOUND', {
      message: `There is no inbox "${name}".${didYouMean(name, known)} "sluice inbox list" shows what is there.`,
      details: { name, known },
    })
  }
}

const endings: ReadonlySet<string> = new Set(['job.died', 'job.discarded', 'job.cancelled', 'job.quarantined'])

const nothing = { waiting: 0, failed: 0, processed: 0, differing: 0, oldest_ms: null }
