import { expect, test } from 'vitest'
import { defineJob, type JobDefinition } from '../../src/index.ts'
import { args, inOrder, lot, mostAtOnce, withSpans, type Args } from '../jobs/spans.ts'
import { testDatabase } from '../support/database.ts'
import { drained, jobProfile, jobWorker, liveJobs, silence } from '../support/jobs.ts'
import { patiently } from '../support/patience.ts'
import { until } from '../support/wait.ts'
import { spawnWorker } from '../support/worker.ts'

/** Long enough that no live process is taken for dead; the dead one is made to look silent for longer. */
const lease = patiently(6_000)

test('a limit holds across processes, one of which is killed with SIGKILL', async () => {
  await using db = await withSpans(await testDatabase())
  const jobs = `
import pg from '${import.meta.resolve('pg')}'
const pool = new pg.Pool({ connectionString: process.env.SLUICE_DATABASE_URL, max: 10 })
const jobs = [1, 3].map((limit) => defineJob({
  name: 'limit-' + limit,
  concurrency: { limit, key: ({ key }) => key },
  args: { '~standard': { version: 1, vendor: 'test', validate: (value) => ({ value }) } },
  async perform({ args: { key, n }, job }) {
    const { rows } = await pool.query('insert into span (job, key, n) values ($1, $2, $3) returning id', [job.id, key, n])
    await new Promise((resolve) => setTimeout(resolve, 20))
    await pool.query('update span set ended = clock_timestamp() where id = $1', [rows[0].id])
  },
}))`
  const [one, three] = [1, 3].map((limit) =>
    defineJob({
      name: `limit-${limit}`,
      args,
      concurrency: { limit, key: ({ key }) => key },
      perform: () => undefined,
    }),
  ) as [JobDefinition<Args>, JobDefinition<Args>]
  await using idle = jobWorker(db, [])
  await idle.jobs.enqueueMany(one, [...lot('a', 60), ...lot('b', 60)])
  await idle.jobs.enqueueMany(three, [...lot('c', 120), ...lot('d', 120)])
  const order = { url: db.workerUrl, jobs, profile: jobProfile({ concurrency: 8 }, { lease }) }
  await using first = await spawnWorker(order)
  await using second = await spawnWorker(order)
  const ran = (): Promise<number> => db.value('select count(*)::int from span where ended is not null')
  await until('some jobs have run', async () => (await ran()) >= 40)
  // The one that has more at hand; either may have been quicker.
  const busy = await db.value<number>(`select w.pid from sluice.worker w
    order by (select count(*) from sluice.job_claim c where c.worker_id = w.id) desc limit 1`)
  const victim = busy === second.pid ? second : first
  victim.kill('SIGKILL')
  await victim.exited
  await silence(db, victim.pid)
  await drained(db)
  for (const [key, limit] of [
    ['a', 1],
    ['b', 1],
    ['c', 3],
    ['d', 3],
  ] as const) {
    expect(await mostAtOnce(db, key)).toBeLessThanOrEqual(limit)
    // Each has ended, and no key has lost its order by more than the one that was killed.
    const ended = await db.value('select count(distinct job)::int from span where key = $1 and ended is not null', [
      key,
    ])
    expect(ended).toBe(limit === 1 ? 60 : 120)
  }
  expect(await mostAtOnce(db, 'c')).toBe(3)
  for (const key of ['a', 'b']) {
    const begun = [...new Set(await inOrder(db, key))]
    expect(begun).toEqual(Array.from({ length: 60 }, (_n, n) => n))
  }
  expect(await liveJobs(db)).toBe(0)
})
