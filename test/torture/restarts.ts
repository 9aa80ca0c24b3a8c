import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { startEmbedded, type EmbeddedPostgres } from '../../src/embedded/index.ts'

/** Takes a server down, each time in another way (kill -9, fast, immediate), and brings it back on the same port. */
export function restarting(
  first: EmbeddedPostgres,
  folder: string,
): { restart(nth: number): Promise<EmbeddedPostgres>; stop(): Promise<void> } {
  let server = first
  const down = [
    async () => void process.kill(server.pid, 'SIGKILL'),
    async () => server.stop('fast'),
    async () => server.stop('immediate'),
  ]
  const binaries = process.env['SLUICE_TEST_POSTGRES']
  return {
    async restart(nth) {
      await down[nth % down.length]?.()
      await sleep(200 + Math.random() * 800)
      server = await startEmbedded({
        dataDir: join(folder, 'postgres'),
        port: first.port,
        settings: { max_connections: '200' },
        ...(binaries === undefined ? {} : { binaries }),
      })
      return server
    },
    stop: () => server.stop('immediate'),
  }
}
