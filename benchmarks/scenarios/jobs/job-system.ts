/** A queue as the benchmark sees it. All of them run the same job, which does nothing. */
export interface JobSystem {
  /** Tables (or keys) that waiting and running jobs live in. */
  readonly hotTables: string[]
  /** Makes what the queue needs in an empty database. */
  prepare(): Promise<void>
  /** One job by one call, durable when it returns. */
  enqueueOne(): Promise<unknown>
  /** Many jobs by one call. */
  enqueueBulk(jobs: number): Promise<unknown>
  /** Starts the one worker of this process; `onJobs` is called as handlers begin. */
  startWorker(onJobs: (jobs: number) => void): Promise<void>
  /** Jobs that are not done yet in the queue's own books. */
  left(): Promise<number>
  /** Stops the worker, if there is one, and lets go of the database. */
  close(): Promise<void>
}

export const systemNames = ['graphile', 'pg-boss', 'bullmq', 'sluice', 'insert'] as const
export type SystemName = (typeof systemNames)[number]

/** One way to set a system up. */
export interface Configuration {
  system: SystemName
  /** How the reports call it. */
  name: string
  /** Read by the file of the system alone. */
  options: Record<string, unknown>
}

/** What a runner process needs to open a system. */
export interface Setup {
  configuration: Configuration
  /** Of a database (or a Redis) that no other run shares. */
  url: string
}

/** Milliseconds on a clock that all processes of the machine share. */
export function now(): number {
  return Number(process.hrtime.bigint()) / 1e6
}
