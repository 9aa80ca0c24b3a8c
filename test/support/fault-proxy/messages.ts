import { CANCEL_REQUEST } from './frames.ts'

/** Reads the zero-ended string that starts at `at`. */
function stringAt(bytes: Buffer, at: number): { text: string; next: number } {
  const end = bytes.indexOf(0, at)
  const stop = end === -1 ? bytes.length : end
  return { text: bytes.toString('utf8', at, stop), next: stop + 1 }
}

/** Reads the first string of a typed message: a query's text, an Execute's portal, a command tag. */
export const firstString = (bytes: Buffer): string => stringAt(bytes, 5).text

/** Reads the first two strings: Parse has (name, text), Bind has (portal, statement). */
export function firstTwoStrings(bytes: Buffer): [string, string] {
  const first = stringAt(bytes, 5)
  return [first.text, stringAt(bytes, first.next).text]
}

/** Reads what a Close message closes: 'S' for a statement, 'P' for a portal, and its name. */
export function closed(bytes: Buffer): { kind: string; name: string } {
  return { kind: String.fromCharCode(bytes[5] ?? 0), name: stringAt(bytes, 6).text }
}

export function startupParameters(bytes: Buffer): Map<string, string> {
  const parameters = new Map<string, string>()
  let at = 8
  while (at < bytes.length && bytes[at] !== 0) {
    const name = stringAt(bytes, at)
    const value = stringAt(bytes, name.next)
    parameters.set(name.text, value.text)
    at = value.next
  }
  return parameters
}

export function errorCode(bytes: Buffer): string | undefined {
  let at = 5
  while (at < bytes.length && bytes[at] !== 0) {
    const field = stringAt(bytes, at)
    if (field.text.startsWith('C')) return field.text.slice(1)
    at = field.next
  }
  return undefined
}

/** Builds any typed message; strings are ended by zero, buffers taken as they are. */
export function message(type: string, ...parts: (string | Buffer)[]): Buffer {
  const body = parts.map((part) => (typeof part === 'string' ? Buffer.from(`${part}\0`) : part))
  const length = Buffer.alloc(4)
  length.writeUInt32BE(4 + body.reduce((sum, part) => sum + part.length, 0))
  return Buffer.concat([Buffer.from(type), length, ...body])
}

export const query = (text: string): Buffer => message('Q', text)
export const parse = (text: string): Buffer => message('P', '', text, Buffer.alloc(2))
export const bind = (): Buffer => message('B', '', '', Buffer.alloc(6))
export const execute = (portal: string): Buffer => message('E', portal, Buffer.alloc(4))
export const terminate = (): Buffer => message('X')

export function errorResponse(severity: 'ERROR' | 'FATAL', sqlstate: string, text: string): Buffer {
  return message('E', `S${severity}`, `V${severity}`, `C${sqlstate}`, `M${text}`, Buffer.alloc(1))
}

/** `key` is the body of a BackendKeyData message, whose length depends on the protocol version. */
export function cancelRequest(key: Buffer): Buffer {
  const header = Buffer.alloc(8)
  header.writeUInt32BE(8 + key.length)
  header.writeUInt32BE(CANCEL_REQUEST, 4)
  return Buffer.concat([header, key])
}
