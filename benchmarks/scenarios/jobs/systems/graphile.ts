import pg from 'pg'
import { peer } from '../peers.ts'
import type { JobSystem } from '../job-system.ts'

interface GraphileWorker {
  Logger: new (factory: () => () => void) => object
  makeWorkerUtils(options: object): Promise<Utils>
  run(options: object): Promise<{ stop(): Promise<void> }>
}

interface Utils {
  migrate(): Promise<void>
  addJob(task: string, payload: object): Promise<unknown>
  addJobs(jobs: { identifier: string; payload: object }[]): Promise<unknown>
  release(): Promise<void>
}

export function openGraphile(url: string, options: Record<string, unknown>): JobSystem {
  const graphile = peer('graphile-worker') as GraphileWorker
  const pool = new pg.Pool({ connectionString: url, max: 2 })
  const preset = { worker: { ...options, connectionString: url } }
  const logger = new graphile.Logger(() => () => {})
  const utils = graphile.makeWorkerUtils({ preset, logger })
  let worker: { stop(): Promise<void> } | undefined

  return {
    hotTables: ['graphile_worker._private_jobs'],
    prepare: async () => (await utils).migrate(),
    enqueueOne: async () => (await utils).addJob('noop', {}),
    enqueueBulk: async (jobs) =>
      (await utils).addJobs(Array.from({ length: jobs }, () => ({ identifier: 'noop', payload: {} }))),
    startWorker: async (onJobs) => {
      const taskList = { noop: () => onJobs(1) }
      worker = await graphile.run({ preset, logger, taskList, parsedCronItems: [], noHandleSignals: true })
    },
    left: async () => {
      const { rows } = await pool.query<{ left: number }>(
        'select count(*)::int as left from graphile_worker._private_jobs',
      )
      return rows[0]?.left ?? Number.NaN
    },
    close: async () => {
      await worker?.stop()
      await (await utils).release()
      await pool.end()
    },
  }
}
