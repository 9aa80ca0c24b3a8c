import type { Burial, Ending, Setback } from '../../../src/jobs/ending.ts'
import type { JobFilter } from '../../../src/jobs/query.ts'
import type {
  CallersTransaction,
  ClaimedJob,
  JobQueue,
  KnownJob,
  NewJob,
  QueueWorker,
} from '../../../src/jobs/queue.ts'
import { Condition } from '../../../src/std/condition.ts'

/** A store of jobs of its own for one test. */
export interface QueueStore extends AsyncDisposable {
  queue: JobQueue
  /** The same jobs, as another process sees them. */
  other: JobQueue
  peek: Peek
}

/** What the port does not tell, and how to make things look. */
export interface Peek {
  /** How many jobs have not ended. */
  live(): Promise<number>
  /** Makes it look as if a worker had given no sign of life for an hour. */
  silence(workerId: string): Promise<void>
  /** Lets time pass for what waits, and for keys that are free after a time. */
  passTime(ms: number): Promise<void>
  /** Begins a transaction of the application. */
  begin(): Promise<OpenTransaction>
  /** Writes a note into the database of the application, in such a transaction. */
  note(tx: CallersTransaction, text: string): Promise<void>
  /** All notes that are there. */
  notes(): Promise<string[]>
}

export interface OpenTransaction {
  tx: CallersTransaction
  commit(): Promise<void>
  rollback(): Promise<void>
}

/** What a store has beyond what every store must have. */
export interface Abilities {
  /** Jobs are recorded and ended in transactions of the application. */
  transactions: boolean
  /** Up to n jobs of a concurrency key run at once. */
  keys: boolean
  /** A queue with a rate starts no job beyond it. */
  rates: boolean
  /** Lists can be narrowed by name, tag and args. */
  filters: boolean
}

/** A job as a store has to know it. */
export function known(name: string, more: Partial<KnownJob> = {}): KnownJob {
  return { name, queue: 'default', priority: 'normal', unique: undefined, limit: undefined, ...more }
}

export const plain = known('plain')

/** A new job called `plain`. */
export function plainJob(n = 0, more: Partial<NewJob> = {}): NewJob {
  return { job: 'plain', queue: 'default', args: JSON.stringify({ n }), unique: null, ...more }
}

/** The same with a unique key. */
export function uniqueJob(key: string, more: Partial<NewJob['unique']> = {}, rest: Partial<NewJob> = {}): NewJob {
  return plainJob(0, { unique: { key, until: 'success', ...more }, ...rest })
}

export const many = (length: number): NewJob[] => Array.from({ length }, (_, n) => plainJob(n))

export function workerOf(jobs: readonly KnownJob[] = [plain], more: Partial<QueueWorker> = {}): QueueWorker {
  return { workerId: crypto.randomUUID(), jobs, weights: undefined, idle: false, hint: new Condition(), ...more }
}

/** A claimed job, and how many were claimed under its nonce. */
export interface Taken {
  worker: QueueWorker
  claimId: string
  of: number
  clockMs: number
  job: ClaimedJob
}

/** One look for jobs by a worker; without one, by one that has just started. */
export async function take(
  queue: JobQueue,
  {
    worker = workerOf(),
    limit = 100,
    free = limit,
    suspects = 1,
  }: { worker?: QueueWorker; limit?: number; free?: number; suspects?: number } = {},
): Promise<Taken[]> {
  const taken: Taken[] = []
  for await (const { claimId, jobs, clockMs } of queue.claim(worker, { limit, free, suspects, hinted: true })) {
    taken.push(...jobs.map((job) => ({ worker, claimId, of: jobs.length, clockMs, job })))
  }
  return taken
}

export const idsOf = (taken: readonly Taken[]): number[] => taken.map(({ job }) => job.id)

/** The same where exactly one is there to be claimed. */
export async function takeOne(queue: JobQueue, how: Parameters<typeof take>[1] = {}): Promise<Taken> {
  const [one, ...others] = await take(queue, { limit: 1, ...how })
  if (one === undefined || others.length > 0) throw new Error(`claimed ${others.length} jobs too many, or none`)
  return one
}

export function completed({ job, claimId }: Taken): Ending {
  const { id, keyed } = job
  return { kind: 'completed', id, claimId, waitMs: 7, runMs: 11, member: false, keyed }
}

export function postponed({ job, claimId }: Taken, more: Partial<Setback> = {}): Ending {
  const rest = { delayMs: 0, tries: null, counts: true, runMs: 11 }
  const error = { name: 'Error', message: 'not yet' }
  return { kind: 'postponed', id: job.id, claimId, verdict: 'retry', reason: 'not yet', error, ...rest, ...more }
}

export function released(taken: Taken): Ending {
  return postponed(taken, { verdict: 'release', error: null, counts: false })
}

export function buried({ job, claimId }: Taken, outcome: Burial['outcome'] = 'dead'): Ending {
  const error = { name: 'Error', message: 'no' }
  return { kind: 'buried', id: job.id, claimId, outcome, reason: 'because', error, runMs: 11 }
}

/** Settles one job, and says whether it was still ours. */
export async function settle(queue: JobQueue, taken: Taken, ending: Ending): Promise<boolean> {
  const emptyClaims = taken.of === 1 ? [taken.claimId] : []
  const settled = await queue.settle(taken.worker, { endings: [ending], emptyClaims })
  return settled !== 'busy' && settled.kept.length === 1
}

/** A filter that lets everything through. */
export function filter(more: Partial<JobFilter> = {}): JobFilter {
  const any = { name: null, queue: null, tag: null, args: null, fingerprint: null, before: null }
  return { states: ['waiting', 'scheduled', 'blocked', 'running'], ...any, limit: 100, withinMs: 3_600_000, ...more }
}

/** Takes a job whose worker then dies, and lets another worker find that. */
export async function crash(queue: JobQueue, peek: Peek, taken: Taken): ReturnType<JobQueue['rescue']> {
  await peek.silence(taken.worker.workerId)
  return queue.rescue(workerOf(), { silent: { leaseMs: 600_000, crashes: 3 } })
}
