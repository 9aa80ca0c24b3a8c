import { SluiceError } from '../errors.ts'
import { errorChain } from '../std/error-chain.ts'

/**
 * What an error from the database asks for.
 * - `connection`: the connection is gone or the server is restarting; reconnect, then look what took effect
 * - `retry`: another transaction was in the way, or the statement took too long; again, smaller
 * - `hold`: the server lacks something (disk, memory, slots) or is read-only; wait, then go on
 * - `fatal`: the statement can never work (unknown column, no permission); a person must act
 * - `rows`: these rows, or the handler, are at fault
 */
export type ErrorClass = 'connection' | 'retry' | 'hold' | 'fatal' | 'rows'

const byState: Record<string, ErrorClass> = {
  '57014': 'retry', // query_canceled, which a statement time-out is
  '55P03': 'retry', // lock_not_available
  '40001': 'retry',
  '40P01': 'retry',
  '25006': 'hold', // read_only_sql_transaction: the server was demoted
  '58030': 'hold', // io_error
  '57P01': 'connection',
  '57P02': 'connection',
  '57P03': 'connection',
  '57P05': 'connection', // idle_session_timeout
  '25P03': 'connection', // idle_in_transaction_session_timeout
}

const byClass: Record<string, ErrorClass> = {
  '08': 'connection',
  '53': 'hold',
  '2D': 'fatal', // a procedure that would end our transaction
  '42': 'fatal',
  '3F': 'fatal',
  // Only who connects meets these: a role or a database that is not there yet after a restore, a password that changes.
  '3D': 'connection',
  '28': 'connection',
  '0A': 'fatal',
}

const networkCodes = new Set(
  'ECONNREFUSED ECONNRESET ECONNABORTED EPIPE ETIMEDOUT ENOTFOUND EAI_AGAIN EHOSTUNREACH ENETUNREACH ENOENT'.split(' '),
)

/** Puts an error into its class. Everything that decides by SQLSTATE asks here. */
export function classify(error: unknown): ErrorClass {
  const state = sqlstate(error)
  if (state !== undefined) return classOf(state)
  if (error instanceof SluiceError) return classifyOwn(error)
  if (isBrokenSocket(error)) return 'connection'
  // A library may have wrapped what the server said. A broken socket in there may be that of any other server.
  const wrapped = errorChain(error)
    .map(sqlstate)
    .find((one) => one !== undefined)
  return wrapped === undefined ? 'rows' : classOf(wrapped)
}

function classOf(state: string): ErrorClass {
  return byState[state] ?? byClass[state.slice(0, 2)] ?? 'rows'
}

/** The next connection may lead to a server that answers, or to the one that has taken over. */
const connectionCodes = new Set<string>([
  'DATABASE_UNREACHABLE',
  'DATABASE_REFUSED',
  'DATABASE_TIMEOUT',
  'DATABASE_READ_ONLY',
])

function classifyOwn(error: SluiceError): ErrorClass {
  // Also one that refuses: a password that was changed is given to workers later, and they go on.
  if (connectionCodes.has(error.code)) return 'connection'
  return error.cause === undefined ? 'fatal' : classify(error.cause)
}

/** True when another transaction holds a lock, and waiting for it took longer than it may. */
export function isLocked(error: unknown): boolean {
  return sqlstate(error) === '55P03'
}

/** True when the server does not have what was asked for, or the rights of the role do not reach so far: asking again is in vain. */
export function isRefused(error: unknown): boolean {
  if (error instanceof SluiceError && error.cause !== undefined) return isRefused(error.cause)
  return ['55000', '0A000', '42501', '42883'].includes(sqlstate(error) ?? '')
}

/** The five-character SQLSTATE of an error from the server, if it is one. */
export function sqlstate(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('code' in error) || !('severity' in error)) return undefined
  return typeof error.code === 'string' && /^[0-9A-Z]{5}$/.test(error.code) ? error.code : undefined
}

/** True when no server answered, or when the one that did lets nobody in. */
export function isUnreachable(error: unknown): boolean {
  const state = sqlstate(error)
  return state === undefined ? isBrokenSocket(error) || isTurnedAway(error) : /^(28|3D|57P03|53300|08)/.test(state)
}

const certificateCodes = new Set(
  'CERT_HAS_EXPIRED DEPTH_ZERO_SELF_SIGNED_CERT ERR_TLS_CERT_ALTNAME_INVALID SELF_SIGNED_CERT_IN_CHAIN UNABLE_TO_GET_ISSUER_CERT UNABLE_TO_GET_ISSUER_CERT_LOCALLY UNABLE_TO_VERIFY_LEAF_SIGNATURE'.split(
    ' ',
  ),
)

/** The client and the server do not agree on a password, or on encryption; `pg` says so without a code of the server. */
function isTurnedAway(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  if ('code' in error && typeof error.code === 'string' && certificateCodes.has(error.code)) return true
  return /^(SASL: |The server does not support SSL|There was an error establishing an SSL)/.test(error.message)
}

/** The error that tells a person that the database cannot be used: nobody answers, or a server does and refuses. */
export function unreachable(error: unknown): SluiceError {
  const reason = error instanceof Error ? describe(error) : String(error)
  const remedy = remedyOf(error)
  const message =
    remedy === undefined
      ? `The database cannot be reached: ${reason}. Check the connection settings and that the server is running; "sluice doctor" tells more.`
      : `The database server refuses the connection: ${reason}. ${remedy}`
  const code = remedy === undefined ? 'DATABASE_UNREACHABLE' : 'DATABASE_REFUSED'
  return new SluiceError(code, {
    message,
    details: { reason, ...(remedy === undefined ? {} : { remedy }) },
    cause: error,
  })
}

/** What to do when a server has answered and lets nobody in; undefined: none has, or it may let us in a moment later. */
function remedyOf(error: unknown): string | undefined {
  const state = sqlstate(error) ?? ''
  if (state.startsWith('3D')) return 'Correct the name of the database in the connection settings, or create it.'
  if (state === '28000') return 'Check the user in the connection settings, and what pg_hba.conf on the server allows.'
  if (state.startsWith('28')) return 'Check user and password in the connection settings.'
  if (state !== '' || !isTurnedAway(error)) return undefined
  return error instanceof Error && error.message.startsWith('SASL: ')
    ? 'Check user and password in the connection settings.'
    : 'Check the encryption in the connection settings (sslmode) and the certificates.'
}

/** True when the server refuses to write. */
export function isReadOnly(error: unknown): boolean {
  return sqlstate(error) === '25006' || (error instanceof SluiceError && error.code === 'DATABASE_READ_ONLY')
}

/** The error that tells a person that the server cannot write; what it says of itself, or the error that it gave. */
export function readOnly(told: { standby: boolean } | Error): SluiceError {
  const [why, remedy] =
    told instanceof Error
      ? [told.message, `Connect to the primary, and see that default_transaction_read_only is off for this role`]
      : told.standby
        ? ['it is a standby', 'Connect to the primary, or promote this server']
        : ['default_transaction_read_only is on', 'Set it to off for this role and database']
  return new SluiceError('DATABASE_READ_ONLY', {
    message: `The database is read-only: ${why}. ${remedy}; "sluice doctor" tells more.`,
    details: { reason: why },
    ...(told instanceof Error ? { cause: told } : {}),
  })
}

/** Does what a person has asked for. When the connection breaks, they are told by a code of ours; it may have been done. */
export async function reached<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw isUnreachable(error) ? unreachable(error) : error
  }
}

function describe(error: Error): string {
  // A host with several addresses fails with an AggregateError, whose own message is empty.
  if (error instanceof AggregateError) return error.errors.map((e) => (e as Error).message).join('; ')
  // Of the driver that is to prove that it knows the password, and of a server that wants to see it.
  if (/client password must be a string$|^empty password returned by client$/.test(error.message))
    return 'the server asks for a password, and none is set'
  return error.message
}

function isBrokenSocket(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  if ('code' in error && typeof error.code === 'string' && networkCodes.has(error.code)) return true
  return /^(Connection terminated|timeout exceeded when trying to connect|Client has encountered a connection error|Client was closed)/.test(
    error.message,
  )
}
