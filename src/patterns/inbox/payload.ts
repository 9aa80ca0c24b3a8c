import type { StandardSchemaV1 } from '@standard-schema/spec'
import { SluiceError } from '../../errors.ts'
import { toJson, type Json } from '../../std/json.ts'

/** What one message may take. */
export const maxPayloadBytes = 256 * 1024

/** The form in which a payload is stored: JSON with sorted keys, so that equal payloads have equal text. */
export function storePayload(name: string, input: unknown): Json {
  const json = toJson(input)
  if ('fault' in json) {
    const path = json.fault.path.replace(/^args/, 'payload')
    throw refused(name, `${path}: ${json.fault.reason}`, { issues: [{ path, message: json.fault.reason }] })
  }
  const bytes = Buffer.byteLength(JSON.stringify(json.value))
  if (bytes > maxPayloadBytes) {
    throw refused(name, `it takes ${bytes} bytes and the limit is ${maxPayloadBytes}`, { bytes, maxPayloadBytes })
  }
  return json.value
}

/** A stored payload as the handler gets it: through the schema of the definition. */
export async function readPayload(name: string, schema: StandardSchemaV1, stored: Json): Promise<unknown> {
  const result = await schema['~standard'].validate(stored)
  if (result.issues === undefined) return result.value
  const issues = result.issues.map(({ message, path = [] }) => ({
    path: ['payload', ...path.map((step) => String(typeof step === 'object' ? step.key : step))].join('.'),
    message,
  }))
  throw refused(name, issues.map((issue) => `${issue.path}: ${issue.message}`).join('; '), { issues })
}

function refused(name: string, problem: string, details: Record<string, unknown>): SluiceError {
  return new SluiceError('PAYLOAD_INVALID', {
    message: `The inbox "${name}" does not take this payload: ${problem}. Nothing was written.`,
    details: { name, ...details },
  })
}
