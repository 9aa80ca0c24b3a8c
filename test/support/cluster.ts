import { execFile } from 'node:child_process'
import { chmod, readFile, rm, statfs, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import pg from 'pg'
import { startEmbedded, type EmbeddedPostgres } from '../../src/embedded/index.ts'
import { grantsScript, Sluice } from '../../src/index.ts'
import { verifierOf } from './verifier.ts'

const otherTemplate = process.env['SLUICE_TEST_TEMPLATE']
export const templateName = otherTemplate ?? 'sluice_template'
export const workerPassword = 'worker'

/** A server that is thrown away: nothing is flushed, and nothing is done in the background but what a test asks for. */
const fast = {
  fsync: 'off',
  synchronous_commit: 'off',
  full_page_writes: 'off',
  max_connections: '200',
  shared_buffers: '64MB',
  autovacuum: 'off',
  jit: 'off',
  max_wal_size: '8GB',
  checkpoint_timeout: '1h',
  wal_writer_delay: '10s',
  bgwriter_delay: '10s',
}

/**
 * Boots a server in a folder and makes the template that test databases are cloned from: migrated, with the narrow
 * roles of `sluice grants`, and an account that is a worker and nothing more. Where there is a seed, a server that was
 * made like this and stopped, it begins as a copy of that; `SLUICE_TEST_TEMPLATE` names another template, which is made.
 */
export async function startCluster(
  folder: string,
  options: { settings?: Record<string, string>; port?: number } = {},
): Promise<EmbeddedPostgres> {
  await chmod(folder, 0o755)
  const dataDir = join(folder, 'postgres')
  const seed = process.env['SLUICE_TEST_SEED']
  if (seed !== undefined) await copyCluster(seed, dataDir)
  const binaries = process.env['SLUICE_TEST_POSTGRES']
  const cluster = await startEmbedded({
    dataDir,
    settings: options.settings ?? fast,
    ...(options.port === undefined ? {} : { port: options.port }),
    ...(binaries === undefined ? {} : { binaries }),
  })
  if (seed === undefined || otherTemplate !== undefined) await makeTemplate(cluster.url)
  // A server that starts forgets what the first session of a database writes down for those after it: clones bring it.
  await run(withDatabase(cluster.url, templateName), 'select 1')
  return cluster
}

/**
 * A database is some seven hundred files, and most tests clone one: in memory that takes a fraction of the time. The
 * suites that crash servers have servers of their own, on disk.
 */
export async function fastestFolder(): Promise<string> {
  const shared = '/dev/shm'
  const room = await statfs(shared).then(
    ({ bavail, bsize }) => bavail * bsize,
    () => 0,
  )
  return room > 2 ** 32 ? shared : tmpdir()
}

/** Copies a server that is stopped; the copy will find a port of its own. */
export async function copyCluster(from: string, to: string): Promise<void> {
  await promisify(execFile)('cp', ['-a', from, to])
  await rm(join(to, 'port'), { force: true })
}

/** Makes the template of another build on a server that has the usual one, if a name for it is given. */
export async function makeOtherTemplate(url: string): Promise<void> {
  if (otherTemplate !== undefined) await makeTemplate(url)
}

/** Somebody who is asked for a proof of the password, as is the rule, and not for the password itself. */
export const proving = 'proving'

/**
 * The server asks for the password itself instead of a proof of it: a run logs in many thousand times, and the proof is
 * a fifth of what that costs. A wrong password is as wrong as ever.
 */
async function askForPasswords(url: string): Promise<void> {
  const { rows } = await run(url, `select current_setting('hba_file') as file`)
  const { file } = rows[0] as { file: string }
  const proofs = await readFile(file, 'utf8')
  await writeFile(file, `host all ${proving} all scram-sha-256\n${proofs.replaceAll('scram-sha-256', 'password')}`)
  await run(url, 'select pg_reload_conf()')
}

async function makeTemplate(url: string): Promise<void> {
  const { username, password } = new URL(url)
  await run(url, `alter role ${username} password '${verifierOf(decodeURIComponent(password))}'`)
  await askForPasswords(url)
  await run(url, `drop database if exists ${templateName}`)
  await run(url, `create database ${templateName}`)
  const template = withDatabase(url, templateName)
  await using sluice = new Sluice({ database: template })
  await sluice.migrate()
  await run(template, grantsScript('sluice'))
  await run(
    template,
    `do $$ begin create role test_worker login password '${verifierOf(workerPassword)}' in role sluice_worker;
       exception when duplicate_object then null; end $$;
     alter default privileges in schema public grant select, insert, update, delete on tables to test_worker;`,
  )
}

export function withDatabase(url: string, name: string): string {
  const changed = new URL(url)
  changed.pathname = `/${name}`
  return changed.href
}

/** Runs one script on a connection of its own. */
export async function run(url: string, sql: string): Promise<pg.QueryResult> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return await client.query(sql)
  } finally {
    await client.end()
  }
}
