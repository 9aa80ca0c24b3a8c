import { errorChain } from './error-chain.ts'
import { storable } from './storable.ts'

/** An error as plain data: what is stored with a failed attempt and carried by events. */
export interface ErrorRecord {
  name: string
  message: string
  /** SQLSTATE, Node error code or Sluice error code, where there is one. */
  code?: string
  stack?: string
  /** What it comes from, the outermost first and without stacks: its causes, and the errors of an AggregateError. */
  causes?: Omit<ErrorRecord, 'causes'>[]
}

const maxMessage = 2_000
const maxStack = 8_000
/** So many causes are kept. */
const maxCauses = 10
const maxCauseMessage = 500

/** Any thrown value as a bounded record that PostgreSQL can store. Never throws, whatever it is given. */
export function errorRecord(thrown: unknown): ErrorRecord {
  const causes = errorChain(thrown)
    .slice(1, maxCauses + 1)
    .map(causeRecord)
  return { ...bareRecord(thrown), ...(causes.length === 0 ? {} : { causes }) }
}

function causeRecord(cause: unknown): ErrorRecord {
  const { stack: _stack, message, ...rest } = bareRecord(cause)
  return { ...rest, message: storable(message, maxCauseMessage) }
}

function bareRecord(thrown: unknown): ErrorRecord {
  if (!isError(thrown)) return { name: 'NotAnError', message: describe(thrown) }
  const [code, stack] = [read(thrown, 'code'), read(thrown, 'stack')]
  return {
    name: storable(read(thrown, 'name'), 200),
    message: storable(read(thrown, 'message'), maxMessage),
    ...(typeof code === 'string' ? { code: storable(code, 100) } : {}),
    ...(typeof stack === 'string' ? { stack: storable(stack, maxStack) } : {}),
  }
}

/** What was thrown, or an error in its place when it cannot even be asked what it is. */
export function inspectable(thrown: unknown): unknown {
  try {
    void (thrown instanceof Error)
    return thrown
  } catch {
    return new Error('something was thrown that cannot be read')
  }
}

/** A proxy may refuse even this question. */
function isError(thrown: unknown): thrown is Error {
  try {
    return thrown instanceof Error
  } catch {
    return false
  }
}

/** A property that may be a getter which throws. */
function read(error: Error, property: 'name' | 'message' | 'code' | 'stack'): unknown {
  try {
    return (error as unknown as Record<string, unknown>)[property]
  } catch {
    return `its ${property} cannot be read`
  }
}

function describe(thrown: unknown): string {
  return thrown === undefined ? 'undefined' : storable(thrown, maxMessage)
}
