import type { StandardSchemaV1 } from '@standard-schema/spec'
import { validateArgs } from '../args.ts'
import { SluiceError } from '../errors.ts'
import type { Registry } from '../runtime/registry.ts'
import { parseDuration, type Duration } from '../std/duration.ts'
import type { Json } from '../std/json.ts'
import { problemOfPaths } from '../std/mask.ts'
import { quoted } from '../std/storable.ts'
import { didYouMean } from '../std/suggest.ts'
import type { Connection } from '../store/connection.ts'
import type { EnqueueArgs, EnqueuedJob, EnqueueOptions } from './enqueue.ts'
import { Bound } from './bound.ts'
import { layersProblem, type GuardContext, type RowLock } from './layers.ts'
import type { JobOutcome } from './outcomes.ts'
import type { ErrorRule, RetryOptions } from './policy.ts'

export type JobPriority = 'high' | 'normal' | 'low'

/** A job as its handler sees it. */
export interface JobInfo {
  readonly id: number
  readonly name: string
  readonly queue: string
  /** From 1. */
  readonly attempt: number
  readonly tags: readonly string[]
  readonly enqueuedAt: Date
  /** The same in every attempt: give it to receivers outside of the database, so that they can tell a repetition. */
  readonly idempotencyKey: string
}

/** A batch of jobs as its members see it. */
export interface MemberBatch {
  readonly id: number
  /** The member through which this was reached. */
  readonly member: number
  /** Adds a member, also when the batch is sealed; inside the transaction where there is one. */
  add<Input>(definition: JobDefinition<Input>, ...rest: EnqueueArgs<Input, EnqueueOptions>): Promise<EnqueuedJob>
  /** Adds many members of one kind. */
  addMany<Input>(
    definition: JobDefinition<Input>,
    args: readonly Input[],
    options?: EnqueueOptions,
  ): Promise<EnqueuedJob[]>
}

/** What `perform` receives. */
export interface JobContext<Args> {
  args: Args
  job: JobInfo
  /** Aborts when the job was cancelled or lost, took too long, or the worker must end: stop early. */
  signal: AbortSignal
  /** Enqueues another job; inside the transaction where there is one. */
  enqueue: <Input>(
    definition: JobDefinition<Input>,
    ...rest: EnqueueArgs<Input, EnqueueOptions>
  ) => Promise<EnqueuedJob>
  /** The batch of jobs that this job is a member of, if it is one. */
  batch?: MemberBatch | undefined
  /** Says something about this attempt; it becomes an event. */
  log: (message: string, fields?: Record<string, unknown>) => void
}

/** What `perform` of a transactional job receives: all that goes through `tx` commits with the job's completion. */
export interface TransactionalContext<Args> extends JobContext<Args> {
  tx: Connection
  /** What `effect` gave. */
  effect: unknown
}

/** What `effect` of a transactional job receives. */
export interface EffectContext<Args> extends JobContext<Args> {
  /** Asks the database, in no transaction. */
  db: Connection
}

type Performed = Promise<JobOutcome | void> | JobOutcome | void

interface CommonSpec<Args> {
  /** Unique among the jobs of an application; stored with each job, so keep it when you rename code. */
  name: string
  /** The queue in which jobs of this name wait, unless enqueueing says otherwise. Default: `default`. */
  queue?: string
  priority?: JobPriority
  /** What becomes of a job whose attempt fails; the first rule that matches decides. */
  onError?: readonly ErrorRule[]
  /** For errors that no rule matches. Default: ten attempts, waiting longer each time. `false`: the job is dead. */
  retry?: false | RetryOptions
  /**
   * One waiting job per key at a time. The key is freed when the job starts or when it has ended (`until`), and after
   * `for` in any case. Default key: the args.
   */
  unique?: { for?: Duration; until?: 'start' | 'success'; key?(args: Args): string }
  /** So many jobs of a key at once, over all processes; they start in the order in which they were enqueued. */
  concurrency?: { limit: number; key(args: Args): string }
  /** An attempt may take so long. Default: 10 minutes. */
  timeout?: Duration
  /** Paths of args that nobody may see, such as `args.token`: masked wherever jobs are shown, and in their errors. */
  redact?: readonly string[]
  /** Asked when the job begins, under the `lock` if there is one. False: there is nothing to do, the job leaves. */
  guard?(context: GuardContext<Args>): boolean | Promise<boolean>
}

export interface JobSpec<Args> extends CommonSpec<Args> {
  transaction?: false
  /** The work. Runs at least once; what it does outside of `tx` may happen again after a crash. */
  perform(context: JobContext<Args>): Performed
}

export interface TransactionalSpec<Args> extends CommonSpec<Args> {
  transaction: true
  /** Locks a row by its key before the handler runs, until the transaction ends. A row that is gone: the job leaves. */
  lock?: RowLock<Args>
  /**
   * What happens outside of the database: before the transaction, in none, and at least once. What it gives goes to
   * `perform`, which writes it down; an outcome such as `snooze` ends the attempt. A guard is asked before it, too.
   */
  effect?(context: EffectContext<Args>): unknown
  /** The work, in the transaction in which the job is completed: what goes through `tx` takes effect exactly once. */
  perform(context: TransactionalContext<Args>): Performed
}

type WithArgs<Schema extends StandardSchemaV1, Spec> = Spec & { args: Schema }

/** A defined job. `Input` is what enqueueing it takes as args. */
export interface JobDefinition<in Input = never> {
  readonly name: string
  readonly queue: string
  readonly priority: JobPriority
  readonly onError: readonly ErrorRule[]
  readonly retry: false | RetryOptions
  readonly unique: { forMs: number | undefined; until: 'start' | 'success'; keyed: boolean } | undefined
  readonly limit: number | undefined
  readonly timeoutMs: number
  readonly transaction: boolean
  readonly redact: readonly string[]
  /** Checks stored args and gives the job to run with them; refuses what does not fit the schema. */
  bind(stored: Json): BoundJob | Promise<BoundJob>
  /** Exists for the type checker only: ties the definition to the args that enqueueing it takes. */
  readonly takes?: (args: Input) => void
}

/** What a handler is given, before its args are put in. */
export type HandlerContext = Omit<JobContext<unknown>, 'args'> & {
  args?: unknown
  tx: Connection | undefined
  db: Connection | undefined
  effect: unknown
}

/** A job with its args. */
export interface BoundJob {
  uniqueKey(): string | undefined
  limitKey(): string | undefined
  /** Runs the handler; gives what it returns, mostly a promise. */
  perform(context: HandlerContext): unknown
  /** Whether something happens before the transaction. */
  readonly hasEffect: boolean
  effect(context: HandlerContext): unknown
}

/** The jobs that a process knows. */
export type JobRegistry = Registry<JobDefinition>

/**
 * Defines a job: a unit of background work.
 *
 * @example
 * ```ts
 * import { defineJob, retryOn, exponential } from 'sluice'
 * import { z } from 'zod'
 *
 * export const sendWelcome = defineJob({
 *   name: 'send-welcome',
 *   args: z.object({ userId: z.number().int() }),
 *   onError: [retryOn('ECONNRESET', { attempts: 6, wait: exponential({ base: '2s' }) })],
 *   async perform({ args, job }) {
 *     await mail.send(args.userId, { idempotencyKey: job.idempotencyKey })
 *   },
 * })
 * ```
 */
export function defineJob<const Schema extends StandardSchemaV1>(
  spec: WithArgs<Schema, TransactionalSpec<StandardSchemaV1.InferOutput<Schema>>>,
): JobDefinition<StandardSchemaV1.InferInput<Schema>>
export function defineJob<const Schema extends StandardSchemaV1>(
  spec: WithArgs<Schema, JobSpec<StandardSchemaV1.InferOutput<Schema>>>,
): JobDefinition<StandardSchemaV1.InferInput<Schema>>
export function defineJob(spec: TransactionalSpec<undefined>): JobDefinition<undefined>
export function defineJob(spec: JobSpec<undefined>): JobDefinition<undefined>
export function defineJob(spec: AnySpec): JobDefinition<undefined> {
  checkSpec(spec)
  const { unique, concurrency } = spec
  return {
    name: spec.name,
    queue: spec.queue ?? 'default',
    priority: spec.priority ?? 'normal',
    onError: spec.onError ?? [],
    retry: spec.retry ?? {},
    unique:
      unique === undefined
        ? undefined
        : { forMs: parseDuration(unique.for), until: unique.until ?? 'success', keyed: unique.key !== undefined },
    limit: concurrency?.limit,
    timeoutMs: parseDuration(spec.timeout) ?? 600_000,
    transaction: spec.transaction === true,
    redact: spec.redact ?? [],
    bind(stored) {
      const args = validateArgs(spec.name, spec.args, stored)
      return args instanceof Promise ? args.then((checked) => new Bound(spec, checked)) : new Bound(spec, args)
    },
  }
}

/** A job as it was declared, whatever its args are. */
export type AnySpec = (JobSpec<unknown> | TransactionalSpec<unknown>) & { args?: StandardSchemaV1 }

const options = [
  'name',
  'queue',
  'priority',
  'args',
  'onError',
  'retry',
  'unique',
  'concurrency',
  'timeout',
  'transaction',
  'redact',
  'guard',
  'lock',
  'effect',
  'perform',
]

const plainName = /^[A-Za-z][A-Za-z0-9._-]{0,99}$/

/** Refuses what cannot be the name of a queue. */
export function checkQueueName(queue: unknown): string {
  if (typeof queue === 'string' && plainName.test(queue)) return queue
  throw new SluiceError('QUEUE_INVALID', {
    message: `${quoted(queue)} cannot be the name of a queue. Use a letter, then up to 99 letters, digits, ".", "_" or "-".`,
    details: { queue },
  })
}

function checkSpec(spec: AnySpec): void {
  const name = typeof spec.name === 'string' ? spec.name : ''
  const refuse = (problem: string): never => {
    throw new SluiceError('DEFINITION_INVALID', {
      message: `The job ${quoted(name)} cannot be defined: ${problem.replace(/\.$/, '')}.`.replace('?.', '?'),
      details: { name, problem },
    })
  }
  if (!plainName.test(name)) {
    refuse('its name must start with a letter and have up to 100 letters, digits, ".", "_" or "-"')
  }
  for (const key of Object.keys(spec)) {
    if (!options.includes(key)) refuse(`there is no option "${key}".${didYouMean(key, options)}`)
  }
  if (typeof spec.perform !== 'function') refuse('"perform" must be a function')
  const path = problemOfPaths(spec.redact ?? [])
  if (path !== undefined) refuse(`"redact" ${path}`)
  if (spec.queue !== undefined && !(typeof spec.queue === 'string' && plainName.test(spec.queue))) {
    refuse('"queue" must be a plain name')
  }
  if (spec.priority !== undefined && !['high', 'normal', 'low'].includes(spec.priority)) {
    refuse('"priority" must be high, normal or low')
  }
  if (!Array.isArray(spec.onError ?? [])) refuse('"onError" must be a list of rules made by retryOn and discardOn')
  for (const [option, value] of [
    ['timeout', spec.timeout],
    ['unique.for', spec.unique?.for],
  ] as const) {
    const ms = value === undefined ? 1 : parseDuration(value)
    if (ms === undefined || ms < 1) refuse(`"${option}" must be a time such as "30s" or "5m"`)
  }
  if (spec.unique?.until !== undefined && !['start', 'success'].includes(spec.unique.until)) {
    refuse('"unique.until" must be start or success')
  }
  const layers = layersProblem(spec)
  if (layers !== undefined) refuse(layers)
  if ('effect' in spec && spec.effect !== undefined && (typeof spec.effect !== 'function' || !spec.transaction)) {
    refuse('"effect" must be a function, and needs "transaction: true"')
  }
  const { concurrency } = spec
  if (concurrency === undefined) return
  if (typeof concurrency.key !== 'function') refuse('"concurrency.key" must be a function of the args')
  if (!(Number.isSafeInteger(concurrency.limit) && concurrency.limit > 0 && concurrency.limit <= 10_000)) {
    refuse('"concurrency.limit" must be a whole number from 1 to 10,000')
  }
}
