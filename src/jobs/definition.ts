/**
 * What a job is: how it is declared, what its handler receives, and what enqueueing it takes. Only types: every other
 * file of this room may import it, and it imports none of them but outcomes and rules.
 */
import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { Registry } from '../runtime/registry.ts'
import type { Duration } from '../std/duration.ts'
import type { Json } from '../std/json.ts'
import type { Connection } from '../store/connection.ts'
import type { ErrorRule, JobOutcome, RetryOptions } from './policy.ts'
import type { NewJob } from './queue.ts'

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
  /** The same in every attempt: give it to receivers outside the database, so that they can recognize a repetition. */
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
  /** Up to `limit` jobs of a key run at once, over all processes, in the order in which they were enqueued. */
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
  /** The work. Runs at least once; what it does outside `tx` may happen again after a crash. */
  perform(context: JobContext<Args>): Performed
}

export interface TransactionalSpec<Args> extends CommonSpec<Args> {
  transaction: true
  /** Locks a row by its key before the handler runs, until the transaction ends. A row that is gone: the job leaves. */
  lock?: RowLock<Args>
  /**
   * What happens outside the database: before the transaction, in none, and at least once. What it gives goes to
   * `perform`, which writes it down; an outcome such as `snooze` ends the attempt. A guard is asked before it, too.
   */
  effect?(context: EffectContext<Args>): unknown
  /** The work, in the transaction in which the job is completed: what goes through `tx` takes effect exactly once. */
  perform(context: TransactionalContext<Args>): Performed
}

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

/** A job as it was declared, whatever its args are. */
export type AnySpec = (JobSpec<unknown> | TransactionalSpec<unknown>) & { args?: StandardSchemaV1 }

/** What a guard looks at. */
export interface GuardContext<Args> {
  args: Args
  /** Asks the database; inside the transaction where there is one. */
  db: Connection
  /** The row of `lock`, as it is under the lock; undefined where there is no `lock`. */
  row: Record<string, unknown> | undefined
}

/** The row that a job works on: nobody else changes it while the handler runs. */
export interface RowLock<Args> {
  /** As you would write it in SQL. */
  table: string
  /** The value of the key column. */
  key(args: Args): unknown
  /** The key column. Default: `id`. */
  by?: string
  /** How long to wait for the lock before the job comes again later. Default: `timeouts.lock`. */
  wait?: Duration
}

/** Choices for new jobs. */
export interface BulkOptions {
  /** Record them in this transaction of yours: they exist when, and only when, that commits. */
  tx?: Connection
  /**
   * With `tx`: wake workers by a notification that goes out with your commit. Without it they are woken a few times
   * shortly after, and find the rest by polling. PostgreSQL lets transactions with a notification commit one after the
   * other, so leave it to transactions that are rare. Default: false.
   */
  notify?: boolean
  /** Not before so long from now, by the database's clock. */
  in?: Duration
  /** Not before this moment. */
  at?: Date
  /** Not all at once: each waits a random part of this time longer. */
  spread?: Duration
  queue?: string
  priority?: JobPriority
  /** Words to find them by. */
  tags?: readonly string[]
  /** @internal The batch of jobs that they join. */
  batch?: NonNullable<NewJob['batch']>
}

/** Choices for one new job. */
export interface EnqueueOptions extends BulkOptions {}

/** Args may be left out where the definition takes none. */
export type EnqueueArgs<Input, Options> = undefined extends Input
  ? [args?: Input, options?: Options]
  : [args: Input, options?: Options]

/** What enqueueing a job gives. */
export interface EnqueuedJob {
  id: number
  /** The unique key of the job was taken; this is the id of the job that has it. */
  duplicate: boolean
}
