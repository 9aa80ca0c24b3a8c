import { createRequire } from 'node:module'
import { SluiceError } from '../../errors.ts'

/** Loads a package that need not be there; says what to install when it is not. */
export function loadOptional(name: string): unknown {
  try {
    return createRequire(import.meta.url)(name)
  } catch (error) {
    if ((error as { code?: string }).code !== 'MODULE_NOT_FOUND') throw error
    throw new SluiceError('CONFIG_INVALID', {
      message: `The package "${name}" is not installed, and these metrics need it. Run: npm install ${name}`,
      details: { package: name },
      cause: error,
    })
  }
}
