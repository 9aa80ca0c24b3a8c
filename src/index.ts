// The front door. Everything that users, the command line and the web interface need is exported here, and only here.

export { Sluice } from './sluice.ts'
export { defineConfig, type SluiceConfig } from './config/config.ts'
export { SluiceError, type SluiceErrorCode, type SluiceErrorParts } from './errors.ts'
export { version } from './version.ts'

// Operations
export { defineOperation } from './operations/define.ts'
export type {
  OperationDefinition,
  ExternalContext,
  ExternalSpec,
  OperationSpec,
  PerformContext,
  ScopeContext,
  WithArgs,
} from './operations/definition.ts'
export { anonymise, type AnonymiseSpec } from './operations/anonymise.ts'
export { backfill, type BackfillSpec } from './operations/backfill.ts'
export { expire, type ExpireSpec } from './operations/expire.ts'
export type { PresetSpec } from './operations/preset.ts'
export type { Age, AgeLimit } from './targets/changes.ts'
export type { Eta } from './operations/progress.ts'
export type { Batch } from './targets/work.ts'
export type { Limits } from './operations/limits.ts'
export type { Operations, StartParameters, SwitchOptions, VerbOptions } from './operations/operations.ts'
export type { OperationRecords, StartableOperation } from './operations/records.ts'
export type { Stretch, Transition } from './store/operation-records.ts'
export type { QuarantinedRange } from './store/quarantine.ts'
export type { Standstill } from './store/standstill.ts'
export type { OperationPlan, OperationPlanOptions } from './operations/preflight/preview.ts'
export type { PlanFinding } from './targets/findings.ts'
export type { StartedOperation, StartOptions } from './operations/start.ts'
export { finalStates, transitions, verbs, type OperationState, type OperationVerb } from './operations/states.ts'
export type { TenantExport, TenantImport, Tenants } from './operations/tenants.ts'
export type { OperationStatus } from './operations/status.ts'

// The governor
export type { BudgetConfig, GovernorConfig } from './governor/options.ts'
export type { VacuumOptions } from './governor/vacuum-care.ts'
export {
  httpProbe,
  prometheusProbe,
  type HttpProbeOptions,
  type PrometheusProbeOptions,
} from './governor/http-probes.ts'
export { probeNames, type LimitOptions, type ProbeLimits, type ProbeName } from './governor/limits.ts'
export { limitedStretches, simulatedCases, type LimitedStretch, type SimulatedCase } from './governor/cases.ts'
export { parseRecording, playRecording, type Recording } from './governor/recording.ts'
export { simulateGovernor, type Simulation, type TracePoint } from './governor/simulator.ts'
export { plotTrace } from './governor/plot.ts'
export { defineProbe, type OwnProbeOptions, type ProbeSpec } from './governor/own-probes.ts'
export type { Probe, Unit } from './governor/probe.ts'

// Jobs
export { defineJob } from './jobs/define.ts'
export type {
  BulkOptions,
  EffectContext,
  EnqueueArgs,
  EnqueuedJob,
  EnqueueOptions,
  GuardContext,
  JobContext,
  JobDefinition,
  JobInfo,
  JobPriority,
  JobSpec,
  MemberBatch,
  RowLock,
  TransactionalContext,
  TransactionalSpec,
} from './jobs/definition.ts'
export { cancel, JobOutcome, JobTimeout, leave, snooze } from './jobs/policy.ts'
export {
  DeadlockDetected,
  discardOn,
  exponential,
  polynomial,
  retryOn,
  type ErrorMatch,
  type ErrorRule,
  type RetryOptions,
  type Wait,
  type WaitPolicy,
} from './jobs/policy.ts'
export { jobVerbs } from './jobs/bulk.ts'
export type { BulkAction } from './jobs/queue.ts'
export type { JobPage, Jobs, JobVerbOptions } from './jobs/jobs.ts'
export { parseArgsFilter, type ArgsFilter, type JobQuery, type JobSelection } from './jobs/query.ts'
export type { Queues, QueueVerbOptions } from './jobs/queues.ts'
export {
  endedJobStates,
  liveJobStates,
  type FailureGroup,
  type JobAttempt,
  type JobState,
  type JobStatus,
  type LockView,
  type QueueStatus,
} from './jobs/status.ts'
export type { WorkerView } from './store/jobs/views.ts'

// Schedules, and the hours in which work may run
export {
  defineSchedule,
  type JobScheduleSpec,
  type Missed,
  type OperationScheduleSpec,
  type Overlap,
  type ScheduleDefinition,
} from './patterns/schedules/define.ts'
export type { ClockChange } from './patterns/schedules/calendar.ts'
export type { Schedules, ScheduleVerbOptions } from './patterns/schedules/schedules.ts'
export type { ScheduleStatus, ScheduleTick } from './patterns/schedules/status.ts'
export { defineWindow, isOpen, nextOpening, type Weekday, type Window, type WindowSpec } from './runtime/window.ts'

// Machines and reconcilers
export { again, type Again } from './patterns/machines/again.ts'
export { defineMachine } from './patterns/machines/define.ts'
export type { MachineDefinition, StepContext, TransactionalStepContext } from './patterns/machines/definition.ts'
export type { Machines, MachineStatus, MachineSummary, RowKey, StartedRow } from './patterns/machines/machines.ts'
export { defineReconciler, type ReconcilerDefinition } from './patterns/reconcilers/define.ts'
export type { Reconcilers, ReconcilerStatus } from './patterns/reconcilers/reconcilers.ts'
export type { Reconciled } from './patterns/reconcilers/run.ts'

// Inboxes
export { defineInbox, type InboxContext, type InboxDefinition, type InboxSpec } from './patterns/inbox/define.ts'
export { inboxHandler, type EndpointOptions, type HeaderLookup, type InboxEndpoint } from './patterns/inbox/endpoint.ts'
export type { Inboxes, Receipt, ReceiveOptions } from './patterns/inbox/inboxes.ts'
export type { InboxKey } from './patterns/inbox/key.ts'
export type { InboxMessage, InboxStatus } from './patterns/inbox/status.ts'
export type { OnceContext, OnceOptions } from './patterns/inbox/once.ts'

// Batches of jobs
export { planned, type PlannedJob, type PlanOptions } from './patterns/batches/planned.ts'
export type { Batches, BatchPage } from './patterns/batches/batches.ts'
export type { BatchOptions } from './patterns/batches/declaration.ts'
export type { OpenBatch } from './patterns/batches/open-batch.ts'
export {
  batchStates,
  type BatchCallback,
  type BatchState,
  type BatchStatus,
  type FailedMember,
} from './patterns/batches/status.ts'

// Sweeps
export { defineSweep } from './patterns/sweeps/define.ts'
export type { ClaimColumns, ColumnOf, SweepContext, SweepDefinition, SweepSpec } from './patterns/sweeps/definition.ts'
export type { QuarantinedSweepRow, Sweeps, SweepStatus } from './patterns/sweeps/sweeps.ts'

// What was going on, and who did what
export type { Alert, Alerts } from './observe/alerts/alerts.ts'
export type { AlertConfig, QueueAlertConfig } from './observe/alerts/options.ts'
export type { WebhookConfig } from './observe/alerts/webhook.ts'
export type { Audit, AuditPage, AuditQuery } from './observe/audit/audit.ts'
export { csvHead, csvLine } from './observe/audit/csv.ts'
export type { AuditRow, AuditSource, Who } from './store/audit.ts'
export type { Seen, Switch } from './store/expected.ts'
export type { OperationSample, Percentiles, QueueSample, SampleQuery, Samples } from './observe/samples/samples.ts'
export type { QueueDepth, SignalSample, Span } from './store/samples.ts'

// SQL fragments with bound parameters
export { default as sql, empty, join, raw, Sql } from 'sql-template-tag'

// The schema, roles and check-up
export { printMigrations, type MigrationResult } from './store/migrate.ts'
export { grantsScript } from './store/grants.ts'
export type { Connection, Result } from './store/connection.ts'
export type { Finding } from './observe/doctor.ts'

// Events
export type { EventName, Events } from './telemetry/events.ts'
export type { LogOptions } from './telemetry/log.ts'
export type { AnyEvent } from './telemetry/telemetry.ts'

// Small words that appear in options and results
export { formatDuration, type Duration } from './std/duration.ts'
export type { ErrorRecord } from './std/error-record.ts'
export type { Json } from './std/json.ts'
export { printable } from './std/printable.ts'
export { redact } from './std/redact.ts'
export { didYouMean } from './std/suggest.ts'
