import { rmSync } from 'node:fs'
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startEmbedded, type EmbeddedPostgres } from '../../embedded/index.ts'

/** Small sub-batches and a short lease: there is something to see, and a dead worker is missed soon. */
const configSource = `import { defineConfig, expire } from 'sluice'

export const expireEvents = expire({
  name: 'expire-events',
  table: 'events',
  olderThan: '90 days',
  by: 'created_at',
  batchSize: 20_000,
  subBatchSize: 100,
  lanes: 2,
})

export default defineConfig({
  operations: [expireEvents],
  worker: { concurrency: 1, lease: '3s', poll: '100ms' },
  embedded: { dataDir: 'postgres' },
})
`

/** A folder with a database and a configuration of its own. */
export interface Place extends AsyncDisposable {
  folder: string
  configFile: string
  postgres: EmbeddedPostgres
  url: string
}

/** Makes the place in the temporary folder. Disposing of it leaves no trace, unless it is to be kept. */
export async function makePlace({ port, keep }: { port: number | undefined; keep: boolean }): Promise<Place> {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-demo-'))
  const remove = (): Promise<void> => rm(folder, { recursive: true, force: true, maxRetries: 3 })
  try {
    // The account that the server runs as must be able to pass through; the server's own folder stays closed.
    await chmod(folder, 0o755)
    const configFile = join(folder, 'sluice.config.mjs')
    await writeFile(configFile, configSource)
    const postgres = await startEmbedded({ dataDir: join(folder, 'postgres'), ...(port === undefined ? {} : { port }) })
    const clearOut = (): void => clearOutAtOnce(postgres.pid, folder)
    if (!keep) process.on('exit', clearOut)
    const dispose = async (): Promise<void> => {
      process.off('exit', clearOut)
      if (keep) return
      await postgres.stop('immediate')
      await remove()
    }
    return { folder, configFile, postgres, url: postgres.url, [Symbol.asyncDispose]: dispose }
  } catch (error) {
    await remove()
    throw error
  }
}

/** For the impatient second Ctrl-C, when nothing can be awaited any more. */
function clearOutAtOnce(pid: number, folder: string): void {
  try {
    process.kill(pid, 'SIGQUIT')
    rmSync(folder, { recursive: true, force: true, maxRetries: 3 })
  } catch {
    // The process is ending; what could not be removed is in the temporary folder, which is swept by others.
  }
}
