import { SluiceError } from '../errors.ts'
import type { ErrorRecord } from '../std/error-record.ts'
import type { Json } from '../std/json.ts'
import type { Connection } from '../store/connection.ts'
import type { Database } from '../store/database.ts'
import type { Telemetry } from '../telemetry/telemetry.ts'
import { Attempt, endingAfter, endingOf } from './attempt.ts'
import { Context } from './context.ts'
import type { JobContext, JobDefinition, JobPriority } from './definition.ts'
import type { Ending } from './ending.ts'
import { newJob } from './enqueue.ts'
import { anyError, JobOutcome, JobTimeout } from './policy.ts'
import type { NewJob } from './queue.ts'

/** How an attempt came out. `lost`: the job was not there any more when its end was to be written down. */
export type JobEnding =
  | { kind: 'succeeded'; /** It found nothing to do; why. */ left?: string }
  | { kind: 'retried'; reason: string; delayMs: number; error: ErrorRecord | null }
  | { kind: 'snoozed'; reason: string; delayMs: number }
  | { kind: 'discarded' | 'dead' | 'quarantined'; reason: string; error: ErrorRecord | null }
  | { kind: 'cancelled'; reason: string }
  | { kind: 'lost' }

/** A job that a rehearsal would have enqueued. */
export interface RehearsedJob {
  name: string
  args: Json
  queue: string
  priority: JobPriority
  tags: readonly string[]
  /** How long it would wait; null: not at all, or until `runAt`. */
  delayMs: number | null
  runAt: Date | null
}

/** What became of a job that was run without the queue. */
export interface Rehearsal {
  ending: JobEnding
  /** The jobs that it enqueued through its context; none of them is recorded. */
  enqueued: RehearsedJob[]
}

export interface RehearsalOptions {
  /** Which attempt it is, from 1: all before it failed as this one does, if it does. */
  attempt?: number
}

/** Waits without jitter: a test wants to know them. */
export const noJitter = 0.5

/** The id of a rehearsed job; those that it enqueues have the next ones. */
const ownId = 1

/** Runs one attempt of a job by its policy, and records nothing. What goes through `tx` is committed if it ends well. */
export async function rehearse(
  definition: JobDefinition,
  { args, attempt: number = 1 }: { args: unknown } & RehearsalOptions,
  { database, telemetry }: { database: () => Promise<Database>; telemetry: Telemetry },
): Promise<Rehearsal> {
  const job = await newJob(definition, args, {})
  const bound = await definition.bind(JSON.parse(job.args) as Json)
  const attempt = attemptOf(definition, job, number)
  const notes = new Notes(job)
  const db: Connection = { query: async (text, values) => (await database()).work.query(text, values) }
  const tools = { telemetry, enqueue: () => notes.enqueue, db }
  const work = (given: { tx?: Connection; effect?: unknown }): Promise<unknown> =>
    performed(attempt, () => bound.perform(new Context(attempt, tools, given)))
  try {
    const effect = bound.hasEffect
      ? await performed(attempt, () => bound.effect(new Context(attempt, tools)))
      : undefined
    const returned =
      definition.transaction && !(effect instanceof JobOutcome)
        ? await (await database()).work.transaction(async (tx) => work({ tx, effect }))
        : (effect ?? (await work({})))
    return { ending: endingView(endingOf(returned, attempt, 0)), enqueued: notes.jobs }
  } catch (error) {
    if (error instanceof SluiceError && error.code === 'DATABASE_NOT_FOR_TESTS') throw error
    const ending = endingView(endingAfter(error, attempt, 0, noJitter))
    // What was enqueued in the transaction went with it.
    return { ending, enqueued: definition.transaction ? [] : notes.jobs }
  }
}

function attemptOf(definition: JobDefinition, job: NewJob, attempt: number): Attempt {
  const now = Date.now()
  const rules = [...definition.onError.map(({ name }) => name), anyError]
  const tries = Object.fromEntries(rules.map((name) => [name, attempt - 1]))
  const queue = job.queue ?? definition.queue
  return new Attempt(
    {
      id: ownId,
      name: definition.name,
      queue,
      attempt,
      crashes: 0,
      runAt: now,
      enqueuedAt: null,
      args: JSON.parse(job.args) as Json,
      tags: null,
      tries,
      keyed: job.key !== undefined,
      cancelling: null,
      batchId: null,
    },
    { claimId: '', definition, queue, now, clockMs: 0 },
  )
}

/** Runs the handler, and tells it to stop when its time is over; one that does not is left. */
async function performed({ definition, stop }: Attempt, handler: () => unknown): Promise<unknown> {
  const { timeoutMs } = definition
  const limit = setTimeout(
    () => stop.stop(new JobTimeout(`The attempt took longer than ${timeoutMs} ms.`)),
    Math.min(timeoutMs, 2 ** 31 - 1),
  )
  try {
    const left = new Promise<never>((_, reject) => {
      stop.whenStopped((reason) => setTimeout(() => reject(reason), 500))
    })
    // Nobody waits for it when the handler ends in time.
    left.catch(() => undefined)
    const returned = await Promise.race([Promise.resolve(handler()), left])
    if (stop.reason !== undefined && definition.transaction) throw stop.reason
    return returned
  } catch (error) {
    throw stop.reason ?? error
  } finally {
    clearTimeout(limit)
  }
}

/** Notes what a handler enqueues, with the answers that the database would give about unique keys. */
class Notes {
  readonly jobs: RehearsedJob[] = []
  readonly #taken = new Map<string, number>()

  constructor(job: NewJob) {
    const key = uniqueKeyOf(job)
    // Until the start: then it is free by now.
    if (key !== undefined && job.unique?.until === 'success') this.#taken.set(key, ownId)
  }

  readonly enqueue: JobContext<unknown>['enqueue'] = async (definition, ...[args, options = {}]) => {
    const job = await newJob(definition, args, options)
    const key = uniqueKeyOf(job)
    const holder = key === undefined ? undefined : this.#taken.get(key)
    if (holder !== undefined) return { id: holder, duplicate: true }
    this.jobs.push(rehearsedJob(job, definition))
    const id = ownId + this.jobs.length
    if (key !== undefined) this.#taken.set(key, id)
    return { id, duplicate: false }
  }
}

function uniqueKeyOf({ job, unique, args }: NewJob): string | undefined {
  return unique === null || unique === undefined ? undefined : `${job} ${unique.key ?? args}`
}

function rehearsedJob({ job, args, queue, priority, ...rest }: NewJob, definition: JobDefinition): RehearsedJob {
  return {
    name: job,
    args: JSON.parse(args) as Json,
    queue: queue ?? definition.queue,
    priority: priority ?? definition.priority,
    tags: rest.tags ?? [],
    delayMs: rest.delayMs ?? null,
    runAt: rest.runAt === undefined ? null : new Date(rest.runAt),
  }
}

/** An ending in the words of its users. */
export function endingView(ending: Ending): JobEnding {
  if (ending.kind === 'completed') {
    return { kind: 'succeeded', ...(ending.left === undefined ? {} : { left: ending.left }) }
  }
  const { reason, error } = ending
  if (ending.kind === 'postponed') {
    const { delayMs } = ending
    return ending.verdict === 'retry'
      ? { kind: 'retried', reason, delayMs, error }
      : { kind: 'snoozed', reason, delayMs }
  }
  const { outcome: kind } = ending
  return kind === 'cancelled' ? { kind, reason } : { kind, reason, error }
}
