/**
 * Jobs: the verbs. `worker.ts` describes how a process works on jobs, and docs/internals/jobs.md has the tables and crash
 * points.
 */
import { SluiceError } from '../errors.ts'
import type { Who } from '../store/audit.ts'
import type { Connection } from '../store/connection.ts'
import { refuseStale, type Seen } from '../store/expected.ts'
import { reached } from '../store/sqlstate.ts'
import { mask } from '../std/mask.ts'
import { sleep } from '../std/sleep.ts'
import { storable } from '../std/storable.ts'
import type { Telemetry } from '../telemetry/telemetry.ts'
import { defineBulk, jobVerbs, type BulkArgs } from './bulk.ts'
import type { BulkOptions, EnqueueArgs, EnqueuedJob, EnqueueOptions, JobDefinition } from './definition.ts'
import { newJob } from './enqueue.ts'
import { lookOf, wordOf, type JobQuery, type JobSelection } from './query.ts'
import type { BulkAction, EnqueuedRow, JobAct, JobQueue, NewJob } from './queue.ts'
import {
  endedJobStates,
  jobStatusOf,
  type FailureGroup,
  type JobAttempt,
  type JobState,
  type JobStatus,
  type LockView,
  type StoredJob,
} from './status.ts'
import { traceTag } from './trace.ts'

/** Jobs, and where to continue the list. */
export interface JobPage {
  jobs: JobStatus[]
  /** Give it as `before` for the next page; null: there is no more. */
  next: number | null
}

/** Who does it, from where and why, and the state in which they have seen the job. */
export type JobVerbOptions = Seen<JobState>

/** One statement takes so many jobs. */
const perStatement = 1_000

/** To count on would cost more, the more there are. */
const countedTo = 10_000

interface Deps {
  queue: JobQueue
  telemetry: Telemetry
  /** The paths of args of a job that nobody may see. */
  redact: (name: string) => readonly string[]
}

/** Jobs: enqueue them, look at them, and change their course. */
export class Jobs {
  /** @internal The job behind {@link bulk}. */
  readonly bulkDefinition: JobDefinition<BulkArgs> = defineBulk((args, before) => this.#bulkStep(args, before))
  /** @internal The context of the span that is active, if there is one; for those who trace. */
  trace: () => string | undefined = () => undefined
  readonly #deps: Deps

  constructor(deps: Deps) {
    this.#deps = deps
  }

  /** Records a job. It runs once the transaction that recorded it has committed, at least once. */
  async enqueue<Input>(
    definition: JobDefinition<Input>,
    ...[args, options = {}]: EnqueueArgs<Input, EnqueueOptions>
  ): Promise<EnqueuedJob> {
    const job = this.#traced(await newJob(definition, args, options))
    const [row] = await this.#deps.queue.enqueue([job], options)
    const { id, duplicate } = row as EnqueuedRow
    this.#deps.telemetry.emit('jobs.enqueued', {
      name: job.job,
      queue: job.queue ?? 'default',
      count: duplicate ? 0 : 1,
      duplicates: duplicate ? 1 : 0,
    })
    return { id, duplicate }
  }

  /** @internal The same from inside a handler: in its transaction, unless it names another. */
  async enqueueIn<Input>(
    tx: Connection | undefined,
    definition: JobDefinition<Input>,
    ...[args, options = {}]: EnqueueArgs<Input, EnqueueOptions>
  ): Promise<EnqueuedJob> {
    const within = { ...(tx === undefined ? {} : { tx }), ...options }
    return this.enqueue(definition, ...([args, within] as EnqueueArgs<Input, EnqueueOptions>))
  }

  /** Records many jobs of one kind, a thousand per statement. Checks all of them before it writes the first. */
  async enqueueMany<Input>(
    definition: JobDefinition<Input>,
    args: readonly Input[],
    options: BulkOptions = {},
  ): Promise<EnqueuedJob[]> {
    const jobs: NewJob[] = []
    for (const one of args) jobs.push(this.#traced(await newJob(definition, one, options)))
    const enqueued: EnqueuedJob[] = []
    for (let at = 0; at < jobs.length; at += perStatement) {
      const some = jobs.slice(at, at + perStatement)
      enqueued.push(...(await this.#deps.queue.enqueue(some, options)))
    }
    const duplicates = enqueued.filter(({ duplicate }) => duplicate).length
    const { name } = definition
    this.#deps.telemetry.emit('jobs.enqueued', {
      name,
      queue: jobs[0]?.queue ?? definition.queue,
      count: enqueued.length - duplicates,
      duplicates,
    })
    return enqueued
  }

  /** One job with the attempts that did not succeed, oldest first. */
  async get(id: number): Promise<JobStatus & { attempts: JobAttempt[] }> {
    const { queue } = this.#deps
    const job = await queue.read('job', { id: checkId(id) })
    if (job === undefined) throw notFound(id)
    return { ...this.#seen(job), attempts: await queue.read('attempts', job) }
  }

  /** Jobs, latest first, a page at a time. Ended ones and others cannot be asked for together. */
  async list(query: JobQuery & { before?: number | null; limit?: number } = {}): Promise<JobPage> {
    const limit = Math.min(Math.max(1, query.limit ?? 50), 1_000)
    const found = await this.#deps.queue.read('jobs', lookOf(query, limit + 1, this.#deps.redact))
    const next = found.length > limit ? (found[limit - 1]?.cursor ?? null) : null
    // Those with the same cursor as the last of a page are on it, too.
    const shown = next === null ? found : found.filter(({ cursor }) => cursor >= next)
    return { jobs: shown.map((job) => this.#seen(job)), next }
  }

  /** How many jobs there are, counted up to ten thousand: `more` says that there are more than that. */
  async count(query: JobQuery = {}): Promise<{ jobs: number; more: boolean }> {
    const jobs = await this.#deps.queue.read('count', lookOf(query, countedTo + 1, this.#deps.redact))
    return { jobs: Math.min(jobs, countedTo), more: jobs > countedTo }
  }

  /** The latest ten thousand jobs that ended without success, in groups of the same failure, the largest first. */
  async failures({ states = ['dead', 'quarantined'] }: { states?: readonly JobState[] } = {}): Promise<FailureGroup[]> {
    return this.#deps.queue.read('failures', { states, latest: 10_000, limit: 200 })
  }

  /** Takes up a job again that ended without success, as if it were new; its unique key is not taken again. */
  async retry(id: number, who: JobVerbOptions = {}): Promise<JobStatus> {
    return this.#act(id, { action: 'retry', reason: '', who })
  }

  /** Lets a job run now that is scheduled for later. */
  async run(id: number, who: JobVerbOptions = {}): Promise<JobStatus> {
    return this.#act(id, { action: 'run', reason: '', who })
  }

  /** Ends a job: at once when nobody runs it; else its handler is told by its signal, within a second or two. */
  async cancel(id: number, who: JobVerbOptions = {}): Promise<JobStatus> {
    return this.#act(id, { action: 'cancel', reason: storable(who.reason ?? 'cancelled by a person', 2_000), who })
  }

  /** Ends a job that nobody runs, or marks a failed one, as one that has become pointless. */
  async discard(id: number, who: JobVerbOptions = {}): Promise<JobStatus> {
    return this.#act(id, { action: 'discard', reason: storable(who.reason ?? 'discarded by a person', 2_000), who })
  }

  /** Does the same to all jobs of a query or selection, in the background: a job of its own, which can be watched and cancelled. */
  async bulk(action: BulkAction, query: JobQuery | JobSelection, who: Who = {}): Promise<EnqueuedJob> {
    if (!('ids' in query)) lookOf(query, 1, this.#deps.redact)
    const plain = JSON.parse(JSON.stringify(query)) as Record<string, never>
    const job = this.#traced(await newJob(this.bulkDefinition, { action, query: plain }, {}))
    const audit = { who, action: `jobs.${action}`, after: { query: plain } }
    const [row] = await this.#deps.queue.enqueue([job], { audit })
    const { id, duplicate } = row as EnqueuedRow
    const { name, queue } = this.bulkDefinition
    this.#deps.telemetry.emit('jobs.enqueued', { name, queue, count: duplicate ? 0 : 1, duplicates: duplicate ? 1 : 0 })
    return { id, duplicate }
  }

  /** Unique keys that are taken, latest first. */
  async locks({ name, limit = 100 }: { name?: string; limit?: number } = {}): Promise<LockView[]> {
    return this.#deps.queue.read('keys', { name: wordOf(name), limit })
  }

  /** Frees a unique key by hand; true when it was taken. */
  async unlock(name: string, key: string, who: Who = {}): Promise<boolean> {
    return this.#deps.queue.act('unlock', { name: wordOf(name), key: wordOf(key), who })
  }

  async #bulkStep({ action, query }: BulkArgs, before: number | null): Promise<{ done: number; next: number | null }> {
    const order = { action, reason: 'by a bulk action' }
    if ('ids' in query) return { done: await this.#actOnSelected(query as unknown as JobSelection, order), next: null }
    const { jobs, next } = await this.list({ ...(query as JobQuery), before, limit: 500 })
    // It must not act on itself.
    const ids = jobs.filter(({ name }) => name !== this.bulkDefinition.name).map(({ id }) => id)
    return { done: await this.actOn(ids, order), next }
  }

  /** On those of a selection that are still in the states in which somebody chose them. */
  async #actOnSelected({ ids, states }: JobSelection, order: Omit<JobAct, 'ids'>): Promise<number> {
    const chosen = ids.map(checkId)
    let done = 0
    for (const from of states) done += await this.actOn(chosen, { ...order, from })
    return done
  }

  /** @internal Acts on jobs, and gives the number of those on which that had an effect. */
  async actOn(ids: readonly number[], order: Omit<JobAct, 'ids'>): Promise<number> {
    return this.#deps.queue.act('jobs', { ids, ...order })
  }

  #traced(job: NewJob): NewJob {
    const trace = this.trace()
    return trace === undefined ? job : { ...job, tags: [...(job.tags ?? []), traceTag(trace)] }
  }

  /** A job as others may see it. */
  #seen(job: StoredJob): JobStatus {
    return jobStatusOf({ ...job, args: mask(job.args, this.#deps.redact(job.name)) })
  }

  async #act(id: number, verb: Omit<JobAct, 'ids'> & { who: JobVerbOptions }): Promise<JobStatus> {
    const { queue } = this.#deps
    const before = await queue.read('job', { id: checkId(id) })
    const { expectedState: from } = verb.who
    const touched = await reached(() => this.actOn([id], { ...verb, was: from ?? before?.state, from }))
    const job = await queue.read('job', { id })
    if (job === undefined) throw notFound(id)
    if (touched > 0) return this.#seen(job)
    refuseStale(`Job ${id}`, job.state, verb.who)
    throw new SluiceError('JOB_STATE', {
      message: `Cannot ${verb.action} job ${id} (${job.name}) in the state ${job.state}: it must be ${jobVerbs[verb.action].join(', ').replace(/, (\w+)$/, ' or $1')}.`,
      details: { id, state: job.state, verb: verb.action },
    })
  }

  /** Waits until a job is over, and gives it. */
  async wait(
    id: number,
    { everyMs = 200, signal }: { everyMs?: number; signal?: AbortSignal } = {},
  ): Promise<JobStatus> {
    for (;;) {
      const status = await this.get(id)
      if ((endedJobStates as readonly string[]).includes(status.state) || signal?.aborted === true) return status
      await sleep(everyMs, signal)
    }
  }
}

function checkId(id: number): number {
  if (Number.isSafeInteger(id) && id > 0) return id
  throw notFound(id)
}

function notFound(id: unknown): SluiceError {
  return new SluiceError('JOB_NOT_FOUND', {
    message: `There is no job ${String(id)}. It may have been dropped with its history; "sluice jobs list" shows what is there.`,
    details: { id },
  })
}
