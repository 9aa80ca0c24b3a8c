import { SluiceError } from '../index.ts'

/** The value of an option that takes JSON. */
export function parseJson(flag: string, text: string | undefined): unknown {
  if (text === undefined) return undefined
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new SluiceError('ARGS_INVALID', {
      message: `${flag} must be JSON: ${error instanceof Error ? error.message : String(error)}. Quote it for the shell: --args '{"key": 1}'.`,
      cause: error,
    })
  }
}

/** The value of an option that takes a key: one value for each column of the cursor. */
export function parseKey(flag: string, text: string | undefined): readonly unknown[] | undefined {
  const key = parseJson(flag, text)
  if (key === undefined || Array.isArray(key)) return key
  throw new SluiceError('ARGS_INVALID', {
    message: `${flag} must be a JSON array with one value for each column of the cursor, such as ${flag} '[42]'.`,
  })
}
