/** Every way in which Sluice itself can refuse or fail. Test by code; `docs/reference/errors.md` explains each one. */
export type SluiceErrorCode =
  | 'ARGS_INVALID'
  | 'BATCH_INVALID'
  | 'BATCH_NOT_FOUND'
  | 'BATCH_STATE'
  | 'CONFIG_INVALID'
  | 'CURSOR_INVALID'
  | 'CURSOR_NOT_INDEXED'
  | 'CURSOR_NOT_UNIQUE'
  | 'CURSOR_NULLABLE'
  | 'DASHBOARD_INVALID'
  | 'DASHBOARD_UNGUARDED'
  | 'DATABASE_NOT_FOR_TESTS'
  | 'DATABASE_READ_ONLY'
  | 'DATABASE_REFUSED'
  | 'DATABASE_UNREACHABLE'
  | 'DATABASE_TIMEOUT'
  | 'DEFINITION_DUPLICATE'
  | 'DEFINITION_INVALID'
  | 'DEFINITION_UNKNOWN'
  | 'ENQUEUE_INVALID'
  | 'EMBEDDED_BINARY_MISSING'
  | 'EMBEDDED_BROKEN'
  | 'EMBEDDED_BUSY'
  | 'EMBEDDED_FOLDER'
  | 'EMBEDDED_FORBIDDEN'
  | 'EMBEDDED_PORT_TAKEN'
  | 'INBOX_NOT_FOUND'
  | 'ISOLATION_TOO_STRICT'
  | 'JOB_NOT_FOUND'
  | 'JOB_STATE'
  | 'MACHINE_ROW_NOT_FOUND'
  | 'MACHINE_STATE'
  | 'MIGRATION_BUSY'
  | 'MIGRATION_INVALID'
  | 'ONCE_BUSY'
  | 'ONCE_INVALID'
  | 'ONCE_RESULT_INVALID'
  | 'OPERATION_MISMATCH'
  | 'OPERATION_NOT_FOUND'
  | 'OPERATION_STATE'
  | 'PAYLOAD_INVALID'
  | 'PERMISSION_DENIED'
  | 'PLAN_SCANS'
  | 'POOLER_MODE'
  | 'QUEUE_INVALID'
  | 'QUEUE_NOT_FOUND'
  | 'SCHEDULE_NOT_FOUND'
  | 'SCHEDULE_STATE'
  | 'RECONCILER_BUSY'
  | 'SCHEMA_AHEAD'
  | 'SCHEMA_BEHIND'
  | 'SCHEMA_FOREIGN'
  | 'SCHEMA_MISSING'
  | 'SCOPE_INVALID'
  | 'STATE_CHANGED'
  | 'SWEEP_INVALID'
  | 'TABLE_INVALID'
  | 'TABLE_NOT_FOUND'
  | 'TEXT_INVALID'
  | 'TRANSACTION_INVALID'
  | 'WINDOW_INVALID'
  | 'WORKER_NOT_FOUND'

/** What a {@link SluiceError} is made of. `message` says what happened and then what to do. */
export interface SluiceErrorParts {
  message: string
  details?: Record<string, unknown>
  cause?: unknown
}

/**
 * The one error class that Sluice throws.
 *
 * @example
 * ```ts
 * try {
 *   await sluice.operations.start(expireEvents)
 * } catch (error) {
 *   if (error instanceof SluiceError && error.code === 'TABLE_NOT_FOUND') console.error(error.message)
 *   else throw error
 * }
 * ```
 */
export class SluiceError extends Error {
  override readonly name = 'SluiceError'
  readonly code: SluiceErrorCode
  readonly details: Readonly<Record<string, unknown>>

  constructor(code: SluiceErrorCode, { message, details = {}, cause }: SluiceErrorParts) {
    super(message, cause === undefined ? undefined : { cause })
    this.code = code
    this.details = details
  }
}
