import { setTimeout as sleep } from 'node:timers/promises'
import { SluiceError } from '../errors.ts'
import { chooseAccount } from './account.ts'
import { readyBinaries } from './binaries.ts'
import { type Launch, type Started, launch } from './boot.ts'
import { ensureCluster, readPassword, user } from './cluster.ts'
import { type Folder, locate, prepare, tenureOf } from './folder.ts'
import type { Fault } from './log.ts'
import { checkPort, choosePort, freePort, host, portTaken } from './port.ts'
import { type Postmaster, disownStale, findLive } from './postmaster.ts'
import { replacePrivate } from './private-file.ts'
import { checkSettings } from './settings.ts'
import { type StopMode, stopServer } from './stop.ts'
import { takeTurn } from './turn.ts'

/**
 * Which server to start, and how.
 *
 * @example
 * ```ts
 * const options: EmbeddedOptions = { dataDir: '.sluice/test', settings: { fsync: 'off' } }
 * ```
 */
export interface EmbeddedOptions {
  /** The folder of the server, empty or not there yet at the first start. Everything of it lives below. */
  dataDir: string
  /** Default: the port of the last start if it is still free, else a free one. */
  port?: number
  /** A folder with `bin`, `lib` and `share` of PostgreSQL 14 or later. Default: the platform package from npm. */
  binaries?: string
  /** More settings for `postgres -c`, such as `{ fsync: 'off' }` in tests. They hold until the server is stopped; one that is attached to keeps its own. */
  settings?: Record<string, string>
}

/**
 * A server that takes connections.
 *
 * @example
 * ```ts
 * const { url, pid, started } = postgres
 * log.info(`${started ? 'Started' : 'Attached to'} PostgreSQL, process ${pid}`)
 * ```
 */
export interface EmbeddedPostgres {
  /** `postgres://postgres:<password>@127.0.0.1:<port>/postgres?sslmode=disable`. It holds the password: do not log it. */
  readonly url: string
  readonly port: number
  readonly pid: number
  readonly dataDir: string
  /** True: this call started the server. False: it was running already and this call attached to it. */
  readonly started: boolean
  /** Stops the server if this call started it, and does nothing if it attached. May be called again. */
  stop(mode?: StopMode): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

/** Orphaned backends of a killed server hold its memory for a moment longer. */
const orphansMs = 15_000
const portTries = 5

/**
 * Starts PostgreSQL in a folder, or attaches to the one that is running there.
 *
 * @example
 * ```ts
 * const postgres = await startEmbedded({ dataDir: '.sluice/postgres' })
 * const pool = new Pool({ connectionString: postgres.url })
 * await postgres.stop()
 * ```
 */
export async function startEmbedded(options: EmbeddedOptions): Promise<EmbeddedPostgres> {
  const { dataDir, port, settings = {} } = options
  checkPort(port)
  checkSettings(settings)
  const folder = await locate(dataDir)
  const live = await findLive(folder.data)
  if (live !== undefined) return attached(folder, live, port)

  const account = await chooseAccount(await tenureOf(folder))
  const binaries = await readyBinaries(options.binaries, account)
  await prepare(folder, account)
  const turn = await takeTurn(folder.root)
  try {
    const other = await findLive(folder.data)
    if (other !== undefined) return await attached(folder, other, port)
    const first = await choosePort(folder, port)
    await ensureCluster({ folder, binaries, account, sync: settings['fsync'] !== 'off' })
    return await boot({ folder, binaries, account, settings }, first, port)
  } finally {
    await turn.release()
  }
}

/** Tries until the server runs or the fault is one that does not pass. */
async function boot(launching: Launch, first: number, asked: number | undefined): Promise<EmbeddedPostgres> {
  const { folder, account } = launching
  const giveUpAt = Date.now() + orphansMs
  // All that can fail on our side comes before the spawn: no server must be left that nobody holds.
  const password = await readPassword(folder)
  let port = first
  let moves = 0
  for (;;) {
    await replacePrivate(folder.port, `${port}\n`, account)
    await disownStale(folder.data, account)
    const launched = await launch(launching, port)
    if (!('fault' in launched)) return ours(launching, launched, password)
    const { fault } = launched
    if (fault.kind === 'port' && asked !== undefined) throw portTaken(asked, fault.reason)
    if (fault.kind === 'port' && ++moves < portTries) port = await freePort()
    else if (fault.kind === 'in use' && Date.now() < giveUpAt) await sleep(200)
    else throw broken(folder, fault)
    const other = await findLive(folder.data)
    if (other !== undefined) return attached(folder, other, asked)
  }
}

function ours({ folder, binaries }: Launch, server: Started, password: string): EmbeddedPostgres {
  const stop = (mode: StopMode = 'fast'): Promise<void> => stopServer(server.child, mode, binaries.pgCtl, folder.data)
  return handle(folder, password, { ...server, started: true, stop })
}

async function attached(folder: Folder, server: Postmaster, asked: number | undefined): Promise<EmbeddedPostgres> {
  if (asked !== undefined && asked !== server.port) {
    throw new SluiceError('EMBEDDED_BUSY', {
      message:
        `The PostgreSQL of ${folder.root} is running on port ${server.port} already (process ${server.pid}), not on the ` +
        `port ${asked} that was asked for. Stop it first, or leave the port out to attach to it.`,
      details: { dataDir: folder.root, port: server.port, asked, pid: server.pid },
    })
  }
  return handle(folder, await readPassword(folder), { ...server, started: false, stop: async () => undefined })
}

type Running = Pick<EmbeddedPostgres, 'pid' | 'port' | 'started' | 'stop'>

function handle(folder: Folder, password: string, { pid, port, started, stop }: Running): EmbeddedPostgres {
  // PGSSLMODE may be set for other servers; this one has no TLS.
  const url = `postgres://${user}:${password}@${host}:${port}/postgres?sslmode=disable`
  return { url, port, pid, dataDir: folder.root, started, stop, [Symbol.asyncDispose]: () => stop() }
}

function broken(folder: Folder, { reason, log }: Fault): SluiceError {
  return new SluiceError('EMBEDDED_BROKEN', {
    message: `PostgreSQL did not start in ${folder.root}: ${reason}. See ${folder.log}, correct the cause, and start again.`,
    details: { dataDir: folder.root, file: folder.log, log },
  })
}
