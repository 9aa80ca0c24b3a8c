import { createHash } from 'node:crypto'
import { SluiceError } from '../../errors.ts'

/** The key of a message: what its source calls it, in one part or several. */
export type InboxKey = string | readonly string[]

const mostParts = 10
const longestPart = 500

/** The parts of a key, checked. */
export function keyParts(name: string, key: unknown): readonly string[] {
  const parts: readonly unknown[] = Array.isArray(key) ? key : [key]
  const fits = parts.length > 0 && parts.length <= mostParts && parts.every(isPart)
  if (fits) return parts as readonly string[]
  throw new SluiceError('PAYLOAD_INVALID', {
    message: `The inbox "${name}" cannot tell this message from others: its key must be a text of 1 to ${longestPart} characters, or up to ${mostParts} of them. Check the "key" of the definition.`,
    details: { name },
  })
}

function isPart(part: unknown): boolean {
  return (
    typeof part === 'string' && part !== '' && part.length <= longestPart && part.isWellFormed() && !part.includes('\0')
  )
}

/** A key as one text, for people and for receivers outside of the database. */
export function keyText(parts: readonly string[]): string {
  return parts.join(':')
}

/** 128 bits of SHA-256 in the form of a uuid: narrow, and nobody can make two texts with the same one. */
export function hashOf(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('hex').slice(0, 32)
}
