import type {
  Alert,
  AuditPage,
  BatchPage,
  BatchStatus,
  FailedMember,
  FailureGroup,
  Finding,
  JobAttempt,
  JobPage,
  JobStatus,
  MachineStatus,
  OperationPlan,
  OperationSample,
  OperationStatus,
  QuarantinedRange,
  QueueSample,
  QueueStatus,
  ScheduleStatus,
  ScheduleTick,
  SignalSample,
  StartableOperation,
  StartedOperation,
  Stretch,
  Transition,
  WorkerView,
} from '../index.ts'
import type { RouteName } from './contract.ts'
import type { Role } from './roles.ts'

/** How many operations each tab of the list has. */
export type Tallies = Record<'running' | 'waiting' | 'stopped' | 'failed' | 'done' | 'all', number>

/** Quarantined ranges with the same error. */
export interface QuarantineGroup {
  fingerprint: string
  ranges: number
  rows: number
  error: QuarantinedRange['error']
  keys: string[]
  firstAt: Date
  lastAt: Date
}

interface Shown {
  /** What the visitor may do to it, by its state and their role. */
  verbs: string[]
}

/** A plan without what EXPLAIN says of its statements: the values of args that nobody may see are in there. */
type ShownPlan = Omit<OperationPlan, 'statements'> & {
  statements: Omit<OperationPlan['statements'][number], 'plan'>[]
}

/** A file, in pieces. */
export interface FileAnswer {
  name: string
  type: string
  pieces: AsyncIterable<string>
}

/** What each route answers. */
export interface Answers {
  session: {
    user: string
    role: Role
    environment: string
    production: boolean
    readOnly: boolean
    traces: string | null
    database: string
    schema: string
    version: string
  }
  operations: { operations: (OperationStatus & Shown)[]; tallies: Tallies; more: boolean }
  'operations.get': { operation: OperationStatus & Shown; limits: { attention: string | null } }
  'operations.records': {
    transitions: Transition[]
    stretches: Stretch[]
    quarantine: QuarantineGroup[]
    quarantineMore: boolean
  }
  'operations.planned': { plan: ShownPlan; madeAt: Date }
  'operations.pause': { operation: OperationStatus }
  'operations.resume': { operation: OperationStatus }
  'operations.cancel': { operation: OperationStatus }
  'operations.approve': { operation: OperationStatus }
  'operations.retry': { operation: OperationStatus }
  'operations.set': { operation: OperationStatus }
  definitions: { definitions: StartableOperation[] }
  'operations.plan': { plan: OperationPlan }
  'operations.start': StartedOperation
  jobs: Omit<JobPage, 'jobs'> & { jobs: (JobStatus & Shown)[] }
  'jobs.get': { job: JobStatus & Shown & { attempts: JobAttempt[] } }
  'jobs.retry': { job: JobStatus }
  'jobs.run': { job: JobStatus }
  'jobs.cancel': { job: JobStatus }
  'jobs.discard': { job: JobStatus }
  'jobs.count': { jobs: number; more: boolean }
  'jobs.bulk': { jobId: number }
  'jobs.bulkMatching': { jobId: number }
  failures: { groups: FailureGroup[]; looked: number }
  'failures.act': { jobId: number }
  'failures.bulk': { jobIds: number[] }
  queues: { queues: QueueStatus[] }
  'queues.pause': { queue: QueueStatus }
  'queues.resume': { queue: QueueStatus }
  'queues.limit': { queue: QueueStatus }
  schedules: { schedules: (ScheduleStatus & { ticks: ScheduleTick[] })[] }
  'schedules.run': { tick: ScheduleTick }
  'schedules.enable': { schedule: ScheduleStatus }
  'schedules.disable': { schedule: ScheduleStatus }
  machines: { machines: (MachineStatus & { problem: string | null })[] }
  batches: BatchPage
  'batches.get': { batch: BatchStatus & { failures: FailedMember[] } }
  'batches.cancel': { batch: BatchStatus & { failures: FailedMember[] } }
  'samples.operation': { samples: Omit<OperationSample, 'operationId' | 'name'>[]; everyMs: number }
  'samples.queues': { samples: QueueSample[]; everyMs: number }
  'samples.signals': { samples: SignalSample[]; everyMs: number }
  audit: AuditPage
  'audit.export': FileAnswer
  workers: { workers: WorkerView[] }
  'workers.drain': { workers: WorkerView[] }
  health: { findings: Finding[]; alerts: Alert[] }
  about: {
    version: string
    node: string
    database: string
    schema: string
    pendingMigrations: string[]
    environment: string
  }
}

/** A value as it arrives on a page. */
type Wire<T> = T extends Date
  ? string
  : T extends bigint
    ? string
    : T extends readonly (infer Item)[]
      ? Wire<Item>[]
      : T extends object
        ? { [K in keyof T]: Wire<T[K]> }
        : T

/** What a page gets from a route. */
export type Answer<N extends RouteName> = Wire<Answers[N]>
