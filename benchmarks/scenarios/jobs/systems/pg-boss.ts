import pg from 'pg'
import { peer } from '../peers.ts'
import type { JobSystem } from '../job-system.ts'

interface PgBossModule {
  PgBoss: new (options: object) => PgBoss
}

interface PgBoss {
  on(event: 'error', listener: (error: Error) => void): void
  start(): Promise<unknown>
  createQueue(name: string, options: object): Promise<void>
  send(name: string, data: object): Promise<string | null>
  insert(name: string, jobs: object[]): Promise<unknown>
  work(name: string, options: object, handler: (jobs: object[]) => Promise<void>): Promise<string>
  stop(options: object): Promise<void>
}

export function openPgBoss(url: string, options: Record<string, unknown>): JobSystem {
  const { PgBoss: Boss } = peer('pg-boss') as PgBossModule
  const pool = new pg.Pool({ connectionString: url, max: 2 })
  const boss = new Boss({ connectionString: url, max: 20, useListenNotify: true })
  boss.on('error', (error) => process.stderr.write(`${error.message}\n`))
  let starting: Promise<unknown> | undefined
  const started = (): Promise<unknown> => (starting ??= boss.start())

  return {
    hotTables: ['pgboss.job'],
    prepare: async () => {
      await started()
      await boss.createQueue('noop', { notify: true })
    },
    enqueueOne: async () => {
      await started()
      await boss.send('noop', {})
    },
    enqueueBulk: async (jobs) => {
      await started()
      await boss.insert(
        'noop',
        Array.from({ length: jobs }, () => ({ data: {} })),
      )
    },
    startWorker: async (onJobs) => {
      await started()
      // The shortest poll that it allows, in case a notification finds no one asleep.
      const polling = { pollingIntervalSeconds: 0.5, notifyPollingIntervalSeconds: 0.5 }
      await boss.work('noop', { ...polling, ...options }, async (jobs) => onJobs(jobs.length))
    },
    left: async () => {
      const { rows } = await pool.query<{ left: number }>(
        `select count(*)::int as left from pgboss.job where name = 'noop' and state < 'completed'`,
      )
      return rows[0]?.left ?? Number.NaN
    },
    close: async () => {
      if (starting !== undefined) await boss.stop({ graceful: false, close: true })
      await pool.end()
    },
  }
}
