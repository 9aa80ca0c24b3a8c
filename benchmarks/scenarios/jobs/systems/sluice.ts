import { pathToFileURL } from 'node:url'
import pg from 'pg'
import type * as SluiceModule from '../../../../src/index.ts'
import type { JobSystem } from '../job-system.ts'

/** As users have it: the built package. */
const built = new URL('../../../../dist/index.js', import.meta.url).href

/** `release`: the folder of another one. */
export async function openSluice(url: string, { release, ...options }: Record<string, unknown>): Promise<JobSystem> {
  const from = typeof release === 'string' ? pathToFileURL(`${release}/dist/index.js`).href : built
  const { Sluice, defineJob } = (await import(from)) as typeof SluiceModule
  const pool = new pg.Pool({ connectionString: url, max: 2 })
  let ran: ((jobs: number) => void) | undefined
  const noop = defineJob({ name: 'noop', perform: () => ran?.(1) })
  const sluice = new Sluice({ database: url, jobs: [noop], worker: { jobs: options } })

  return {
    hotTables: ['sluice.job', 'sluice.job_claim'],
    prepare: async () => void (await sluice.migrate()),
    enqueueOne: () => sluice.jobs.enqueue(noop),
    enqueueBulk: (jobs) =>
      sluice.jobs.enqueueMany(
        noop,
        Array.from({ length: jobs }, () => undefined),
      ),
    startWorker: async (onJobs) => {
      ran = onJobs
      await sluice.start()
    },
    left: async () => {
      const { rows } = await pool.query<{ left: number }>('select count(*)::int as left from sluice.job')
      return rows[0]?.left ?? Number.NaN
    },
    close: async () => {
      await sluice.stop()
      await pool.end()
    },
  }
}
