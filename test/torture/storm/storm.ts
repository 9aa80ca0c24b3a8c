import { setTimeout as sleep } from 'node:timers/promises'
import { defineJob, exponential, Sluice } from '../../../src/index.ts'
import type { TestDatabase } from '../../support/database.ts'

/** After how many seconds how many jobs try again. */
export type Spread = Map<number, number>

/**
 * Lets many jobs fail at once and tells when they will try again. The times are what the engine has written down with
 * each failed attempt, counted from that attempt: so it does not matter how fast this machine got through them.
 */
export async function retryStorm(
  db: TestDatabase,
  { jobs, jitter }: { jobs: number; jitter: number },
): Promise<Spread> {
  const failing = defineJob({
    name: `storm-${jitter}`,
    retry: { wait: exponential({ base: '30s', jitter }) },
    perform: () => {
      throw new Error('the service behind it is down')
    },
  })
  const worker = { jobs: { concurrency: 100, poll: '100ms' } } as const
  await using sluice = new Sluice({ database: db.workerUrl, jobs: [failing], worker })
  const enqueued = await sluice.jobs.enqueueMany(
    failing,
    Array.from({ length: jobs }, () => undefined),
  )
  await sluice.start()
  const ids = enqueued.map(({ id }) => id)
  const written = (): Promise<number> =>
    db.value('select count(*)::int from sluice.job_attempt where job_id = any($1::bigint[])', [ids])
  for (let waited = 0; (await written()) < jobs; waited += 50) {
    if (waited > 120_000) throw new Error(`only ${await written()} of ${jobs} jobs have failed`)
    await sleep(50)
  }
  const rows = await db.query<{ second: number; jobs: number }>(
    `select round(extract(epoch from next_at - at))::int as second, count(*)::int as jobs
     from sluice.job_attempt
     where job_id = any($1::bigint[]) and attempt = 1
     group by 1
     order by 1`,
    [ids],
  )
  return new Map(rows.map((row) => [row.second, row.jobs]))
}

/** The share of all retries that falls into the fullest second. */
export function fullest(spread: Spread): number {
  const counts = [...spread.values()]
  return Math.max(...counts) / counts.reduce((sum, count) => sum + count, 0)
}

/** The spread as lines of text, a bar for each second. */
export function histogram(spread: Spread, width = 60): string {
  const seconds = [...spread.keys()]
  const most = Math.max(...spread.values())
  const lines: string[] = []
  for (let second = Math.min(...seconds); second <= Math.max(...seconds); second++) {
    const count = spread.get(second) ?? 0
    const bar = '█'.repeat(Math.round((count / most) * width))
    lines.push(`${String(second).padStart(4)} s ${String(count).padStart(6)} ${bar}`)
  }
  return lines.join('\n')
}
