import type { SluiceErrorCode } from '../index.ts'

/** What the exit code of a command tells a script. */
export const exitCodes = {
  done: 0,
  failed: 1,
  usage: 2,
  unreachable: 3,
  checkFailed: 4,
  unconfirmed: 5,
  refused: 6,
  SIGINT: 130,
  SIGTERM: 143,
} as const

export type Outcome = keyof typeof exitCodes

/** How a command ends on each error. A new error code does not compile until it has its place here. */
export const outcomeOf: Readonly<Record<SluiceErrorCode, Outcome>> = {
  ARGS_INVALID: 'usage',
  CARVE_NOT_INDEXED: 'refused',
  CONFIG_INVALID: 'usage',
  CURSOR_INVALID: 'usage',
  CURSOR_NOT_INDEXED: 'refused',
  CURSOR_NOT_UNIQUE: 'refused',
  CURSOR_NULLABLE: 'refused',
  DATABASE_UNREACHABLE: 'unreachable',
  DATABASE_TIMEOUT: 'unreachable',
  DEFINITION_DUPLICATE: 'usage',
  DEFINITION_INVALID: 'usage',
  DEFINITION_UNKNOWN: 'usage',
  ENQUEUE_INVALID: 'usage',
  EMBEDDED_BINARY_MISSING: 'unreachable',
  EMBEDDED_BROKEN: 'unreachable',
  EMBEDDED_BUSY: 'unreachable',
  EMBEDDED_FOLDER: 'unreachable',
  EMBEDDED_FORBIDDEN: 'refused',
  EMBEDDED_PORT_TAKEN: 'unreachable',
  ISOLATION_TOO_STRICT: 'failed',
  JOB_NOT_FOUND: 'failed',
  JOB_STATE: 'refused',
  MIGRATION_BUSY: 'failed',
  MIGRATION_INVALID: 'failed',
  OPERATION_NOT_FOUND: 'failed',
  OPERATION_STATE: 'refused',
  PERMISSION_DENIED: 'failed',
  QUEUE_INVALID: 'usage',
  QUEUE_NOT_FOUND: 'failed',
  SCHEMA_AHEAD: 'checkFailed',
  SCHEMA_BEHIND: 'checkFailed',
  SCHEMA_MISSING: 'checkFailed',
  SCOPE_INVALID: 'usage',
  SWEEP_INVALID: 'usage',
  TABLE_INVALID: 'usage',
  TABLE_NOT_FOUND: 'usage',
}
