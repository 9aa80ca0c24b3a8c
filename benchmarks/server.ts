import { rmSync } from 'node:fs'
import { chmod, mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startEmbedded } from '../src/embedded/index.ts'

/** A PostgreSQL for one benchmark, as durable as one in production. Disposing of it removes it; so does Ctrl-C. */
export async function throwAwayServer(): Promise<AsyncDisposable & { url: string }> {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-benchmark-'))
  const remove = (): void => rmSync(folder, { recursive: true, force: true, maxRetries: 3 })
  try {
    // The account that the server runs as must be able to pass through.
    await chmod(folder, 0o755)
    // Memory and WAL as a production server has them, so that no checkpoint falls into some runs and not into others.
    const settings = { shared_buffers: '2GB', max_wal_size: '8GB' }
    const server = await startEmbedded({ dataDir: join(folder, 'postgres'), settings })
    const clearOut = (): never => {
      process.kill(server.pid, 'SIGQUIT')
      remove()
      process.exit(130)
    }
    process.once('SIGINT', clearOut)
    const dispose = async (): Promise<void> => {
      process.off('SIGINT', clearOut)
      await server.stop('immediate')
      remove()
    }
    return { url: server.url, [Symbol.asyncDispose]: dispose }
  } catch (error) {
    remove()
    throw error
  }
}
