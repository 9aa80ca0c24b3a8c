import { relative, resolve } from 'node:path'
import { startEmbedded } from '../embedded/index.ts'
import { Sluice, SluiceError, type JobDefinition, type SluiceConfig } from '../index.ts'
import { chooseDatabase, type DatabaseChoice } from './choose-database.ts'
import { loadConfig, type LoadedConfig } from './config-file.ts'
import { interruptible } from './interrupt.ts'
import type { GlobalOptions, Shell } from './shell.ts'

/** What a command works with while it is connected. */
export interface Session {
  sluice: Sluice
  file: string | undefined
  choice: DatabaseChoice
  /** The operations that the configuration defines. */
  names: readonly string[]
  /** The jobs that it defines. */
  jobs: readonly JobDefinition[]
}

/** What a command asks for beyond the options. */
export interface SessionNeeds {
  options: GlobalOptions
  /** Changes the configuration before it takes effect. */
  adjust?: (config: SluiceConfig) => SluiceConfig
  /** The command is of no use without definitions. */
  configFile?: 'required'
  /** The work heeds the signal by itself: it has something to give back before connections close. */
  stops?: 'by itself'
}

/** Finds configuration and database, does the work, and closes everything in reverse, also after an error or signal. */
export async function withSluice<T>(
  shell: Shell,
  { options, adjust = (config) => config, configFile, stops }: SessionNeeds,
  work: (session: Session) => Promise<T>,
): Promise<T> {
  const { config, file } = await prepareConfig(shell, options)
  if (configFile === 'required' && file === undefined) throw missingConfig(shell.folder)
  const choice = chooseDatabase({ flag: options.database, env: shell.env, config, folder: shell.folder })
  await using database = await openDatabase(shell, choice)
  const { database: _named, schema: named, ...rest } = config
  const schema = options.schema ?? named
  const where = {
    ...(database.url === undefined ? {} : { database: database.url }),
    ...(schema === undefined ? {} : { schema }),
  }
  await using sluice = new Sluice(adjust({ ...rest, ...where }))
  const names = (config.operations ?? []).map(({ name }) => name)
  const session = { sluice, file, choice, names, jobs: config.jobs ?? [] }
  return await (stops === 'by itself' ? work(session) : interruptible(shell.signal, () => work(session)))
}

/** Reads the file of environment variables, then the configuration file, which may want them. */
export async function prepareConfig(shell: Shell, { envFile, config }: GlobalOptions): Promise<LoadedConfig> {
  if (envFile !== undefined) loadEnvironment(resolve(shell.folder, envFile))
  return loadConfig(shell.folder, config)
}

function loadEnvironment(file: string): void {
  try {
    process.loadEnvFile(file)
  } catch (error) {
    throw new SluiceError('CONFIG_INVALID', {
      message: `The file of environment variables ${file} cannot be read. Correct --env-file.`,
      details: { file },
      cause: error,
    })
  }
}

async function openDatabase(
  shell: Shell,
  choice: DatabaseChoice,
): Promise<{ url: string | undefined } & AsyncDisposable> {
  if (choice.from !== 'embedded') return { url: choice.url, [Symbol.asyncDispose]: async () => undefined }
  const { dataDir, port } = choice
  shell.output.note(`using the embedded PostgreSQL in ${relative(shell.folder, dataDir) || dataDir}`)
  const postgres = await startEmbedded({ dataDir, ...(port === undefined ? {} : { port }) })
  return { url: postgres.url, [Symbol.asyncDispose]: () => postgres.stop() }
}

function missingConfig(folder: string): SluiceError {
  return new SluiceError('CONFIG_INVALID', {
    message: `There is no sluice.config.ts in ${folder}. Run "sluice init" to get one, or name a file with --config.`,
    details: { folder },
  })
}
