import { chown, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import { startEmbedded, type EmbeddedPostgres } from '../../src/embedded/index.ts'
import { copyCluster, run, startCluster } from './cluster.ts'
import { until } from './wait.ts'

/** A primary and a replica that streams from it. */
export interface Pair extends AsyncDisposable {
  readonly primary: EmbeddedPostgres
  readonly replica: EmbeddedPostgres
  /** Stops the processes that receive and replay, as a replica does whose disk hangs; gives what lets them go on. */
  freeze(): Promise<() => void>
  /**
   * Stops the primary when the replica has all of it, lets the replica take over, and brings the old primary back as a
   * standby, on its old port: what still goes there finds a server that cannot write.
   */
  failOver(): Promise<void>
  /** WAL that the replica has not replayed, in bytes, as the primary sees it. */
  lagBytes(): Promise<number>
}

const binaries = process.env['SLUICE_TEST_POSTGRES']
const given = binaries === undefined ? {} : { binaries }

/** The replica begins as a copy of the files of the stopped primary: the npm binaries bring no pg_basebackup. */
export async function startPair(folder: string, settings: Record<string, string>): Promise<Pair> {
  const first = await startCluster(folder, { settings })
  await first.stop('fast')
  const [here, there] = [join(folder, 'postgres'), join(folder, 'replica')]
  await copyCluster(here, there)
  await makeStandby(there)
  let primary = await startEmbedded({ dataDir: here, settings, port: first.port, ...given })
  const { username, password, port } = new URL(primary.url)
  const source = `host=127.0.0.1 port=${port} user=${username} password=${decodeURIComponent(password)} application_name=replica`
  const replica = await startEmbedded({ dataDir: there, settings: { ...settings, primary_conninfo: source }, ...given })
  const ask = asker(primary.url)
  await until('the replica streams', async () => (await ask(streaming)) === 1)
  const failOver = async (): Promise<void> => {
    await until('the replica has all of it', async () => (await ask(lag)) === 0)
    await primary.stop('fast')
    await run(replica.url, 'select pg_promote()')
    await makeStandby(here)
    primary = await startEmbedded({ dataDir: here, settings, port: first.port, ...given })
  }
  return {
    get primary() {
      return primary
    },
    replica,
    failOver,
    lagBytes: () => ask(lag),
    freeze: () => freeze(replica.url),
    async [Symbol.asyncDispose]() {
      await ask.end()
      await replica.stop('immediate')
      await primary.stop('immediate')
    },
  }
}

/** Lets the server of a folder start as a standby. */
async function makeStandby(folder: string): Promise<void> {
  const data = join(folder, 'cluster', 'data')
  const mark = join(data, 'standby.signal')
  const owner = await stat(join(data, 'PG_VERSION'))
  await writeFile(mark, '')
  await chown(mark, owner.uid, owner.gid)
}

const streaming = `select count(*)::int as value from pg_stat_replication where state = 'streaming'`
const lag = `select coalesce(max(pg_wal_lsn_diff(pg_current_wal_lsn(), replay_lsn)), 0)::float8 as value
  from pg_stat_replication`

function asker(url: string): { (text: string): Promise<number>; end(): Promise<void> } {
  const pool = new pg.Pool({ connectionString: url, max: 1 })
  pool.on('error', () => undefined)
  const ask = async (text: string): Promise<number> =>
    (await pool.query<{ value: number }>(text)).rows[0]?.value ?? Number.NaN
  return Object.assign(ask, { end: () => pool.end() })
}

async function freeze(url: string): Promise<() => void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const { rows } = await client.query<{ pid: number }>(
    `select pid from pg_stat_activity where backend_type in ('startup', 'walreceiver')`,
  )
  await client.end()
  for (const { pid } of rows) process.kill(pid, 'SIGSTOP')
  return () => {
    for (const { pid } of rows) process.kill(pid, 'SIGCONT')
  }
}
