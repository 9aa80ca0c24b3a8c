// The front door. Everything that users, the command line and the web interface need is exported here, and only here.

export { Sluice } from './sluice.ts'
export { defineConfig, type SluiceConfig } from './config.ts'
export { SluiceError, type SluiceErrorCode, type SluiceErrorParts } from './errors.ts'
export { version } from './version.ts'

// Operations
export {
  defineOperation,
  type OperationDefinition,
  type OperationSpec,
  type OperationSpecWithArgs,
  type PerformContext,
  type ScopeContext,
} from './operations/define.ts'
export { expire, type Age, type ExpireSpec } from './operations/expire.ts'
export type { Batch } from './operations/batch.ts'
export type { Operations, StartParameters } from './operations/operations.ts'
export type { StartedOperation, StartOptions } from './operations/start.ts'
export { transitions, type OperationState } from './operations/states.ts'
export type { OperationStatus } from './operations/status.ts'

// SQL fragments with bound parameters
export { default as sql, empty, join, raw, Sql } from 'sql-template-tag'

// The schema, roles and check-up
export { printMigrations, type MigrationResult } from './store/migrate.ts'
export { grantsScript } from './store/grants.ts'
export type { Connection, Result } from './store/connection.ts'
export type { Finding } from './health/doctor.ts'

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
