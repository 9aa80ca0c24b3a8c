import { access, stat } from 'node:fs/promises'
import { basename, extname, join, resolve } from 'node:path'
import { createJiti } from 'jiti'
import * as embedded from '../embedded/index.ts'
import * as sluice from '../index.ts'
import { SluiceError, type SluiceConfig } from '../index.ts'

/** The names that are looked for, in this order. */
const configNames = ['sluice.config.ts', 'sluice.config.mts', 'sluice.config.js', 'sluice.config.mjs'] as const

/** How a file names this package when it does so by address. */
const front = new URL(`../index${extname(import.meta.url)}`, import.meta.url).href

/** A configuration and the file that it is from, if there is one. */
export interface LoadedConfig {
  config: SluiceConfig
  file: string | undefined
}

/** Finds and loads the configuration file; without one the configuration is empty. */
export async function loadConfig(folder: string, named: string | undefined): Promise<LoadedConfig> {
  const file = named === undefined ? await findConfig(folder) : resolve(folder, named)
  if (file === undefined) return { config: {}, file }
  const found = await stat(file).catch(() => undefined)
  if (found === undefined) {
    throw wrong(file, 'there is no such file. Correct --config, or run "sluice init" to get one')
  }
  if (found.isDirectory()) throw wrong(file, 'it is a folder. Name a file with --config')
  return { config: await readConfig(file), file }
}

/** The configuration file of a folder. */
export async function findConfig(folder: string): Promise<string | undefined> {
  for (const name of configNames) {
    const file = join(folder, name)
    if (await exists(file)) return file
  }
  return undefined
}

async function readConfig(file: string): Promise<SluiceConfig> {
  const loaded: unknown = await importFile(file)
  const config: unknown =
    typeof loaded === 'object' && loaded !== null && 'default' in loaded ? loaded.default : undefined
  if (config === undefined) throw wrong(file, 'it has no default export. Write "export default defineConfig({ … })"')
  if (typeof config !== 'object' || config === null || Array.isArray(config)) {
    throw wrong(file, 'its default export must be an object, as defineConfig({ … }) gives it')
  }
  return config
}

async function importFile(file: string): Promise<unknown> {
  const jiti = createJiti(import.meta.url, {
    // A cache would lie in a folder that other users can write to.
    fsCache: false,
    interopDefault: false,
    // The file gets the very modules that run here, wherever it lies and whichever copy is installed there.
    virtualModules: { sluice, [front]: sluice, 'sluice/embedded': embedded },
  })
  try {
    return await jiti.import(file)
  } catch (error) {
    if (error instanceof SluiceError) throw error
    throw wrong(file, causeText(error), error)
  }
}

/** The parser's message goes over two lines, and that of a missing module brings a require stack. */
function causeText(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error)
  return (text.split('\nRequire stack:')[0] ?? text).replaceAll(/\s+/g, ' ').trim()
}

function wrong(file: string, problem: string, cause?: unknown): SluiceError {
  return new SluiceError('CONFIG_INVALID', {
    message: `The configuration file ${basename(file)} cannot be used: ${problem.replace(/\.$/, '')}.`,
    details: { file },
    cause,
  })
}

async function exists(file: string): Promise<boolean> {
  return access(file).then(
    () => true,
    () => false,
  )
}
