import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { connect, createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

/** A Redis for one benchmark. Disposing of it removes it; so does the end of this process. */
export interface Redis extends AsyncDisposable {
  url: string
  /** Version and settings, for the report. */
  about: string
}

const binary = 'redis-server'
const installer = 'apt-get'
const settings = ['--appendonly', 'yes', '--appendfsync', 'everysec', '--save', '']

/** As durable as one can have it without a sync for each write. */
export async function throwAwayRedis(say: (line: string) => void): Promise<Redis> {
  const version = install(say)
  const folder = await mkdtemp(join(tmpdir(), 'sluice-benchmark-redis-'))
  const port = await freePort()
  const where = ['--bind', '127.0.0.1', '--port', String(port), '--dir', folder]
  const server = spawn(binary, [...where, ...settings], { stdio: 'ignore' })
  const ended = new Promise<void>((resolve) => server.once('exit', () => resolve()))
  const remove = (): void => {
    server.kill('SIGKILL')
    rmSync(folder, { recursive: true, force: true, maxRetries: 3 })
  }
  process.once('exit', remove)
  const dispose = async (): Promise<void> => {
    process.off('exit', remove)
    server.kill('SIGKILL')
    await ended
    remove()
  }
  try {
    await answers(port)
  } catch (error) {
    await dispose()
    throw error
  }
  const about = `Redis ${version}: appendonly yes, appendfsync everysec`
  return { url: `redis://127.0.0.1:${port}`, about, [Symbol.asyncDispose]: dispose }
}

function install(say: (line: string) => void): string {
  const before = versionOf()
  if (before !== undefined) return before
  say('installing redis-server')
  try {
    const apt = ['install', '-y', '--no-install-recommends', binary]
    // Run level 1 keeps the package from starting a server of its own.
    const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' }
    execFileSync(installer, apt, { env, stdio: ['ignore', 'ignore', 'pipe'] })
  } catch (cause) {
    throw new Error('BullMQ needs a redis-server, and apt-get could not install one: install it, then try again.', {
      cause,
    })
  }
  return versionOf() ?? 'of unknown version'
}

function versionOf(): string | undefined {
  const { stdout } = spawnSync(binary, ['--version'], { encoding: 'utf8' })
  return /v=(\S+)/.exec(stdout ?? '')?.[1]
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => probe.once('listening', resolve))
  const { port } = probe.address() as AddressInfo
  await new Promise((resolve) => probe.close(resolve))
  return port
}

async function answers(port: number): Promise<void> {
  for (let tries = 0; tries < 100; tries++) {
    const there = await new Promise<boolean>((resolve) => {
      const socket = connect(port, '127.0.0.1', () => resolve(true))
      socket.once('error', () => resolve(false))
      socket.once('connect', () => socket.destroy())
    })
    if (there) return
    await sleep(50)
  }
  throw new Error('redis-server was started, but did not answer within 5 s')
}
