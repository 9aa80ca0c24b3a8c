import { redact } from '../index.ts'
import type { Refusal } from './guard.ts'
import { RoleMissing } from './roles.ts'
import { Misfit } from './shape.ts'

/** What an error means to who asked. What we do not know is not told: it may hold anything. */
export function failureOf(error: unknown): Refusal {
  if (error instanceof Misfit)
    return { status: 400, code: 'INPUT', message: `The request does not fit: ${error.message}.` }
  if (error instanceof RoleMissing) return { status: 403, code: 'ROLE', message: error.message }
  const { name, code, message } = (error ?? {}) as { name?: unknown; code?: unknown; message?: unknown }
  const text = redact(String(message))
  if (name === 'SluiceError' && typeof code === 'string') return { status: statusOf(code), code, message: text }
  if (code === '57014') return { status: 503, code: 'TIMEOUT', message: 'The database took longer than five seconds.' }
  return { status: 500, code: 'FAILED', message: 'The server could not answer. Its log may say why.' }
}

function statusOf(code: string): Refusal['status'] {
  if (code.endsWith('_NOT_FOUND') || code === 'DEFINITION_UNKNOWN') return 404
  if (code.endsWith('_STATE') || code.endsWith('_BUSY') || code === 'STATE_CHANGED') return 409
  if (code.startsWith('DATABASE_') || code.startsWith('SCHEMA_')) return 503
  if (code === 'PERMISSION_DENIED') return 500
  // What remains is about what was asked for: args, limits, plans that are refused.
  return 400
}
