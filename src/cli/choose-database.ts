import { resolve } from 'node:path'
import { SluiceError, type SluiceConfig } from '../index.ts'

/** Where the choice of the database may come from. */
export interface DatabaseSources {
  flag: string | undefined
  env: NodeJS.ProcessEnv
  config: SluiceConfig
  folder: string
}

/** The chosen database. No `url`: the PG* variables say it all. */
export type DatabaseChoice =
  | { from: 'flag' | 'environment' | 'config file'; name: string; url: string | undefined }
  | { from: 'embedded'; dataDir: string; port: number | undefined }

const urlVariables = ['SLUICE_DATABASE_URL', 'DATABASE_URL'] as const
const partVariables = ['PGHOST', 'PGPORT', 'PGDATABASE', 'PGUSER'] as const
const defaultDataDir = '.sluice/postgres'

/** Flag before environment before configuration file before the embedded server, which is never for production. */
export function chooseDatabase({ flag, env, config, folder }: DatabaseSources): DatabaseChoice {
  if (flag !== undefined) return { from: 'flag', name: '--database', url: flag }
  const named = urlVariables.find((name) => Boolean(env[name]))
  if (named !== undefined) return { from: 'environment', name: named, url: env[named] }
  const part = partVariables.find((name) => Boolean(env[name]))
  if (part !== undefined) return { from: 'environment', name: part, url: undefined }
  if (config.database !== undefined) return { from: 'config file', name: 'database', url: config.database }
  if (env['NODE_ENV'] === 'production') throw forbidden()
  return {
    from: 'embedded',
    dataDir: resolve(folder, config.embedded?.dataDir ?? defaultDataDir),
    port: config.embedded?.port,
  }
}

function forbidden(): SluiceError {
  return new SluiceError('EMBEDDED_FORBIDDEN', {
    message:
      'No database is named, and the embedded PostgreSQL is not for production (NODE_ENV is "production"). ' +
      'Set DATABASE_URL to the database to use.',
  })
}
