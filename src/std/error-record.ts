/** An error as plain data: what is stored with a failed attempt and carried by events. */
export interface ErrorRecord {
  name: string
  message: string
  /** SQLSTATE, Node error code or Sluice error code, where there is one. */
  code?: string
  stack?: string
}

const maxMessage = 2_000
const maxStack = 8_000

/** Any thrown value as a bounded record that PostgreSQL can store. */
export function errorRecord(thrown: unknown): ErrorRecord {
  if (!(thrown instanceof Error)) return { name: 'NotAnError', message: clean(describe(thrown), maxMessage) }
  const code: unknown = 'code' in thrown ? thrown.code : undefined
  return {
    name: clean(thrown.name, 200),
    message: clean(thrown.message, maxMessage),
    ...(typeof code === 'string' ? { code: clean(code, 100) } : {}),
    ...(typeof thrown.stack === 'string' ? { stack: clean(thrown.stack, maxStack) } : {}),
  }
}

function describe(thrown: unknown): string {
  try {
    return String(thrown)
  } catch {
    // A thrown value may refuse to become text; its kind is all there is to say.
    return typeof thrown
  }
}

function clean(text: string, limit: number): string {
  const storable = text.toWellFormed().replaceAll('\0', '\uFFFD')
  return storable.length <= limit ? storable : `${storable.slice(0, limit)}…`
}
