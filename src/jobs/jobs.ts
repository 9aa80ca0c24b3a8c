/**
 * Jobs: the verbs. `crew.ts` describes how a process works on jobs, and docs/internals/jobs.md has the tables and crash
 * points.
 */
import { SluiceError } from '../errors.ts'
import { audited, type Who } from '../store/audit.ts'
import type { Connection } from '../store/connection.ts'
import type { Database } from '../store/database.ts'
import { refuseStale, type Seen } from '../store/expected.ts'
import { unlock } from '../store/jobs/control.ts'
import type { EnqueuedRow, NewJob } from '../store/jobs/enqueue.ts'
import { failureGroups, type FailureGroup } from '../store/jobs/failures.ts'
import * as views from '../store/jobs/views.ts'
import { reached } from '../store/sqlstate.ts'
import { mask } from '../std/mask.ts'
import { sleep } from '../std/sleep.ts'
import { storable } from '../std/storable.ts'
import type { Telemetry } from '../telemetry/telemetry.ts'
import { actOn, type Order } from './act.ts'
import { defineBulk, jobVerbs, type BulkAction, type BulkArgs } from './bulk.ts'
import { Coalescer } from './coalescer.ts'
import type { BulkOptions, EnqueueArgs, EnqueuedJob, EnqueueOptions, JobDefinition } from './definition.ts'
import { Entrance, isPlain } from './entrance.ts'
import { newJob } from './enqueue.ts'
import { lookOf } from './lister.ts'
import { wordOf, type JobQuery, type JobSelection } from './query.ts'
import { attemptOf, endedJobStates, jobStatusOf, type JobAttempt, type JobState, type JobStatus } from './status.ts'
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
  database: () => Promise<Database>
  telemetry: Telemetry
  /** Whether this process works on jobs and could begin one at once. */
  idle: () => boolean
  /** Wakes those who work on jobs in this process. */
  wake: () => void
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
  /** @internal For those who record jobs together with something else. */
  readonly entrance: Entrance
  readonly #plain: Coalescer<NewJob, EnqueuedRow>
  /** Of jobs with keys the first call comes first. */
  readonly #inOrder: Coalescer<NewJob, EnqueuedRow>

  constructor(deps: Deps) {
    this.#deps = deps
    this.entrance = new Entrance(deps)
    const pass = (jobs: NewJob[], lockMs: number): Promise<EnqueuedRow[]> => this.entrance.pass(jobs, lockMs)
    const patienceMs = (): Promise<number> => this.entrance.patienceMs()
    this.#plain = new Coalescer(pass, { most: perStatement, flights: 2, patienceMs })
    this.#inOrder = new Coalescer(pass, { most: perStatement, flights: 1, patienceMs })
  }

  /** Records a job. It runs once the transaction that recorded it has committed, at least once. */
  async enqueue<Input>(
    definition: JobDefinition<Input>,
    ...[args, options = {}]: EnqueueArgs<Input, EnqueueOptions>
  ): Promise<EnqueuedJob> {
    const job = this.#traced(await newJob(definition, args, options))
    const { tx } = options
    // What joins a batch of jobs may be refused, and must not take others along.
    const alone = tx !== undefined || job.batch !== undefined
    const row = alone
      ? (await this.#pass([job], options))[0]
      : await (isPlain(job) ? this.#plain : this.#inOrder).add(job)
    const { id, duplicate } = row as EnqueuedRow
    this.#deps.telemetry.emit('jobs.enqueued', {
      name: job.job,
      queue: job.queue ?? 'default',
      count: duplicate ? 0 : 1,
      duplicates: duplicate ? 1 : 0,
    })
    return { id: Number(id), duplicate }
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
      const rows = await this.#pass(some, options)
      enqueued.push(...rows.map(({ id, duplicate }) => ({ id: Number(id), duplicate })))
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
    const { control: connection } = await this.#deps.database()
    const view = await views.findJob(connection, { id: checkId(id) })
    if (view === undefined) throw notFound(id)
    return { ...this.#seen(view), attempts: (await views.attemptsOf(connection, view)).map(attemptOf) }
  }

  /** Jobs, latest first, a page at a time. Ended ones and others cannot be asked for together. */
  async list(query: JobQuery & { before?: number | null; limit?: number } = {}): Promise<JobPage> {
    const { control: connection } = await this.#deps.database()
    const limit = Math.min(Math.max(1, query.limit ?? 50), 1_000)
    const look = lookOf(query, limit + 1, this.#deps.redact)
    const found = await look.list(connection, look.filter)
    const next = found.length > limit ? (found[limit - 1]?.cursor ?? null) : null
    // Those with the same cursor as the last of a page are on it, too.
    const shown = next === null ? found : found.filter(({ cursor }) => cursor >= next)
    return { jobs: shown.map((view) => this.#seen(view)), next }
  }

  /** How many jobs there are, counted up to ten thousand: `more` says that there are more than that. */
  async count(query: JobQuery = {}): Promise<{ jobs: number; more: boolean }> {
    const { control: connection } = await this.#deps.database()
    const look = lookOf(query, countedTo + 1, this.#deps.redact)
    const [{ jobs } = { jobs: 0 }] = await look.count(connection, look.filter)
    return { jobs: Math.min(jobs, countedTo), more: jobs > countedTo }
  }

  /** The latest ten thousand jobs that ended without success, in groups of the same failure, the largest first. */
  async failures({ states = ['dead', 'quarantined'] }: { states?: readonly JobState[] } = {}): Promise<FailureGroup[]> {
    return failureGroups((await this.#deps.database()).control, { states, latest: 10_000, limit: 200 })
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
    await this.entrance.meet([{ job: this.bulkDefinition.name, queue: this.bulkDefinition.queue }])
    const plain = JSON.parse(JSON.stringify(query)) as Record<string, never>
    const job = await audited(await this.#deps.database(), who, async (tx) => {
      const result = await this.enqueue(this.bulkDefinition, { action, query: plain }, { tx })
      return { result, act: { action: `jobs.${action}`, target: String(result.id), after: { query: plain } } }
    })
    this.#deps.wake()
    return job
  }

  /** Unique keys that are taken, latest first. */
  async locks({ name, limit = 100 }: { name?: string; limit?: number } = {}): Promise<views.LockView[]> {
    return views.listLocks((await this.#deps.database()).control, { name: wordOf(name), limit })
  }

  /** Frees a unique key by hand; true when it was taken. */
  async unlock(name: string, key: string, who: Who = {}): Promise<boolean> {
    const lock = { name: wordOf(name), key: wordOf(key) }
    return audited(await this.#deps.database(), who, async (tx) => {
      const [freed] = await unlock(tx, lock)
      const act = freed && { action: 'job.unlock', target: lock.name, before: { key: lock.key, jobId: freed.job_id } }
      return { result: freed !== undefined, act }
    })
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
  async #actOnSelected({ ids, states }: JobSelection, order: Order): Promise<number> {
    const chosen = ids.map(checkId)
    let done = 0
    for (const from of states) done += await this.actOn(chosen, { ...order, from })
    return done
  }

  async #pass(jobs: readonly NewJob[], { tx, notify = false }: BulkOptions): Promise<EnqueuedRow[]> {
    return tx === undefined ? this.entrance.pass(jobs) : this.entrance.passIn(tx, jobs, { notify })
  }

  /** @internal Acts on jobs, and gives the number of those on which that had an effect. */
  async actOn(ids: readonly number[], order: Order): Promise<number> {
    const { telemetry } = this.#deps
    const tell = (): Promise<void> => this.entrance.tellAll()
    return actOn({ database: await this.#deps.database(), telemetry, tell }, ids, order)
  }

  #traced(job: NewJob): NewJob {
    const trace = this.trace()
    return trace === undefined ? job : { ...job, tags: [...(job.tags ?? []), traceTag(trace)] }
  }

  /** A job as others may see it. */
  #seen(view: views.JobView): JobStatus {
    return jobStatusOf({ ...view, args: mask(view.args, this.#deps.redact(view.name)) })
  }

  async #act(id: number, verb: Order & { who: JobVerbOptions }): Promise<JobStatus> {
    const { control: connection } = await this.#deps.database()
    const before = await views.findJob(connection, { id: checkId(id) })
    const { expectedState: from } = verb.who
    const touched = await reached(() => this.actOn([id], { ...verb, was: from ?? before?.state, from }))
    const view = await views.findJob(connection, { id })
    if (view === undefined) throw notFound(id)
    if (touched > 0) return this.#seen(view)
    refuseStale(`Job ${id}`, view.state, verb.who)
    throw new SluiceError('JOB_STATE', {
      message: `Cannot ${verb.action} job ${id} (${view.name}) in the state ${view.state}: it must be ${jobVerbs[verb.action].join(', ').replace(/, (\w+)$/, ' or $1')}.`,
      details: { id, state: view.state, verb: verb.action },
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
