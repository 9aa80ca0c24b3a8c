import { redact } from '../index.ts'

/** What leaves as a file: the same holds. */
export const fileToWire = (text: string): string => redact(text)

/** What leaves for a page or a stream, as text. Everything passes here: no password of a connection string gets out. */
export function toWire(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) => {
    if (typeof part === 'bigint') return String(part)
    return typeof part === 'string' && (part.includes('://') || part.includes('password=')) ? redact(part) : part
  })
}
