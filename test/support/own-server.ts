import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { startEmbedded } from '../../src/embedded/index.ts'
import { startCluster } from './cluster.ts'

/** A server that a test may crash: on disk, and with nothing left out that makes commits durable. */
export interface OwnServer extends AsyncDisposable {
  url: string
  /** Takes the server down (first with kill -9, then fast, then immediate) and brings it back on the same port. */
  restart(nth: number): Promise<void>
  /** Takes it down with kill -9, so that nothing is written that was not written before, and brings it back. */
  crash(): Promise<void>
}

const durable = { fsync: 'on', synchronous_commit: 'on', full_page_writes: 'on', max_connections: '200' }

export async function ownServer(more: Record<string, string> = {}): Promise<OwnServer> {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-own-server-'))
  const settings = { ...durable, ...more }
  const first = await startCluster(folder, { settings })
  let server = first
  const binaries = process.env['SLUICE_TEST_POSTGRES']
  const crash = async (): Promise<void> => void process.kill(server.pid, 'SIGKILL')
  const down = [crash, () => server.stop('fast'), () => server.stop('immediate')]
  const downAndUp = async (takeDown: () => Promise<void>): Promise<void> => {
    await takeDown()
    await sleep(200 + Math.random() * 800)
    server = await startEmbedded({
      dataDir: join(folder, 'postgres'),
      port: first.port,
      settings,
      ...(binaries === undefined ? {} : { binaries }),
    })
  }
  return {
    url: first.url,
    restart: (nth) => downAndUp(down[nth % down.length] ?? crash),
    crash: () => downAndUp(crash),
    async [Symbol.asyncDispose]() {
      await server.stop('immediate')
      await rm(folder, { recursive: true, force: true })
    },
  }
}
