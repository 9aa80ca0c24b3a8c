import { readFile } from 'node:fs/promises'
import { SluiceError } from '../index.ts'
import { fileProblem } from './file-problem.ts'

/** The value of an option that takes JSON. */
export function parseJson(flag: string, text: string | undefined): unknown {
  if (text === undefined) return undefined
  return parse(flag, text, ` Quote it for the shell: --args '{"key": 1}'.`)
}

/** The value in a file of JSON that an option names. */
export async function readJson(flag: string, file: string): Promise<unknown> {
  try {
    // Strict: bytes that are no text would become question marks.
    const text = new TextDecoder('utf-8', { fatal: true }).decode(await readFile(file))
    return parse(`The file of ${flag}`, text, '')
  } catch (error) {
    if (error instanceof SluiceError) throw error
    throw refused(`The file of ${flag} cannot be read: ${fileProblem(error)}.`, error)
  }
}

function parse(what: string, text: string, hint: string): unknown {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    throw refused(`${what} must be JSON: ${messageOf(error)}.${hint}`, error)
  }
  const inexact = inexactNumber(text)
  if (inexact === undefined) return value
  throw refused(
    `${what} has the number ${inexact}, of which the last digits would be lost. Write it as text: "${inexact}".`,
  )
}

/** The first whole number that JavaScript would silently change. */
function inexactNumber(json: string): string | undefined {
  const numbers = json.replaceAll(/"(?:[^"\\]|\\.)*"/g, '""').match(/-?\d[\d.eE+-]*/g) ?? []
  return numbers.find((number) => /^-?\d+$/.test(number) && !Number.isSafeInteger(Number(number)))
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

function refused(message: string, cause?: unknown): SluiceError {
  return new SluiceError('ARGS_INVALID', { message, cause })
}

/** The value of an option that takes a key: one value for each column of the cursor. */
export function parseKey(flag: string, text: string | undefined): readonly unknown[] | undefined {
  const key = parseJson(flag, text)
  if (key === undefined || Array.isArray(key)) return key
  throw refused(`${flag} must be a JSON array with one value for each column of the cursor, such as ${flag} '[42]'.`)
}
