import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { defineJob, defineOperation, defineSchedule, Sluice, sql } from '../../../src/index.ts'
import { testDatabase, type TestDatabase } from '../../support/database.ts'
import { claimForTheDead, openClient } from '../../support/jobs.ts'
import { isWaiting } from '../../support/locks.ts'
import { until } from '../../support/wait.ts'

const keyed = defineJob({ name: 'keyed', concurrency: { limit: 1, key: () => 'k' }, perform: () => undefined })
const noop = defineJob({ name: 'noop', queue: 'mail', perform: () => undefined })
const count = defineOperation({
  name: 'count',
  table: 'counters',
  perform: ({ batch }) => batch.update(sql`n = n + 1`),
})
const nightly = defineSchedule({ name: 'nightly', cron: '0 3 * * *', job: noop })

let db: TestDatabase
let sluice: Sluice
let owner: Sluice

beforeAll(async () => {
  db = await testDatabase()
  await db.query('create table counters (id int primary key, n int not null default 0)')
  await db.query('insert into counters select generate_series(1, 100)')
  const config = { jobs: [noop, keyed], operations: [count], schedules: [nightly] }
  sluice = new Sluice({ database: db.workerUrl, ...config })
  owner = new Sluice({ database: db.url, ...config })
})
afterAll(async () => {
  await sluice.stop()
  await owner.stop()
  await db[Symbol.asyncDispose]()
})
beforeEach(() =>
  db.query(['job_cancel', 'job_claim', 'job', 'job_dead'].map((table) => `delete from sluice.${table}`).join('; ')),
)

/** Everything that a verb could change. */
async function everything(): Promise<unknown> {
  const tables = ['job', 'job_dead', 'job_cancel', 'queue', 'schedule', 'job_batch', 'operation', 'operation_history']
  const of = ['audit', 'standstill', 'disabled_operation', 'quarantine'].concat(tables)
  const texts = of.map((table) => `select '${table}' as name, to_jsonb(t) as row from sluice.${table} t`)
  return db.query(texts.join(' union all ') + ' order by 1, 2')
}

/** Does it, and shows that it was refused as stale with nothing written. */
async function expectStale(act: () => Promise<unknown>): Promise<void> {
  const before = await everything()
  await expect(act()).rejects.toMatchObject({ code: 'STATE_CHANGED' })
  expect(await everything()).toEqual(before)
}

/** A job in a state, by its id. */
const jobIn = {
  waiting: async () => (await sluice.jobs.enqueue(noop)).id,
  scheduled: async () => (await sluice.jobs.enqueue(noop, undefined, { in: '1h' })).id,
  blocked: async () => {
    await sluice.jobs.enqueue(keyed)
    return (await sluice.jobs.enqueue(keyed)).id
  },
  running: async () => {
    const { id } = await sluice.jobs.enqueue(noop)
    await claimForTheDead(db)
    return id
  },
  dead: async () => {
    const { id } = await sluice.jobs.enqueue(noop)
    await sluice.jobs.discard(id)
    await db.query(`update sluice.job_dead set outcome = 'dead' where id = $1`, [id])
    return id
  },
  cancelled: async () => {
    const { id } = await sluice.jobs.enqueue(noop)
    await sluice.jobs.cancel(id)
    return id
  },
}
type State = keyof typeof jobIn
const states = Object.keys(jobIn) as State[]
const possible = {
  retry: ['dead', 'cancelled'],
  run: ['scheduled'],
  cancel: ['waiting', 'scheduled', 'blocked', 'running'],
  discard: ['waiting', 'scheduled', 'blocked', 'dead'],
} as const satisfies Record<string, readonly State[]>
const verbs = Object.keys(possible) as (keyof typeof possible)[]

describe('a verb on a job', () => {
  const pairs = verbs.flatMap((verb) => states.flatMap((is) => states.map((seen) => [verb, is, seen] as const)))

  test.each(pairs)('%s of one that is %s and was seen %s', async (verb, is, seen) => {
    const id = await jobIn[is]()
    expect((await sluice.jobs.get(id)).state).toBe(is)
    const act = () => sluice.jobs[verb](id, { actor: 'ada', expectedState: seen })
    if (is !== seen) return expectStale(act)
    if (!(possible[verb] as readonly State[]).includes(is)) {
      return expect(act()).rejects.toMatchObject({ code: 'JOB_STATE' })
    }
    await act()
    const { acts } = await sluice.audit.list({ target: String(id), limit: 1 })
    expect(acts).toMatchObject([{ actor: 'ada', action: `job.${verb}`, before: { state: is } }])
  })

  test('compares the state where it acts, not where it looked', async () => {
    const id = await jobIn.scheduled()
    const client = await openClient(db.url)
    await client.query('begin')
    await client.query('update sluice.job set state = 4, run_at = now() where id = $1', [id])
    // It may be refused before anything below is done: its error is expected from the start.
    const cancelled = sluice.jobs.cancel(id, { expectedState: 'scheduled' })
    const refused = expect(cancelled).rejects.toMatchObject({ code: 'STATE_CHANGED' })
    await until('it waits for the row', () => isWaiting(db))
    await client.query('commit')
    await client.end()
    await refused
    expect((await sluice.jobs.get(id)).state).toBe('waiting')
  })
})

test('what a verb cannot do leaves a wish to end the job as it is', async () => {
  const id = await jobIn.running()
  await sluice.jobs.cancel(id)
  await expect(sluice.jobs.retry(id)).rejects.toMatchObject({ code: 'JOB_STATE' })
  expect(await db.value('select count(*)::int from sluice.job_cancel')).toBe(1)
})

test('a queue, a schedule, a batch of jobs', async () => {
  await sluice.jobs.enqueue(noop)
  const { queues, schedules, batches } = sluice
  await expectStale(() => queues.resume('mail', { expectedState: 'paused' }))
  await queues.pause('mail', { expectedState: 'open' })
  await expectStale(() => queues.pause('mail', { expectedState: 'open' }))
  await queues.resume('mail', { expectedState: 'paused' })
  await schedules.disable('nightly', { expectedState: 'enabled' })
  await expectStale(() => schedules.disable('nightly', { expectedState: 'enabled' }))
  expect((await schedules.enable('nightly', { expectedState: 'disabled' })).enabled).toBe(true)
  await expectStale(() => schedules.enable('nightly', { expectedState: 'disabled' }))
  const batch = await batches.open()
  await batch.add(noop)
  await expectStale(() => batches.cancel(batch.id, { expectedState: 'sealed' }))
  await batch.seal()
  await expectStale(() => batches.cancel(batch.id, { expectedState: 'open' }))
  await batches.cancel(batch.id, { actor: 'ada', expectedState: 'sealed' })
  await expectStale(() => batches.cancel(batch.id, { expectedState: 'sealed' }))
  const { acts } = await sluice.audit.list({ action: 'batch' })
  expect(acts).toMatchObject([{ actor: 'ada', before: { state: 'sealed' }, after: { state: 'cancelled' } }])
})

test('operations, their definitions and the standstill', async () => {
  const { operations } = owner
  const { id } = await operations.start(count)
  await expectStale(() => operations.pause(id, { expectedState: 'active' }))
  await expectStale(() => operations.set(id, { pace: 0.5 }, { expectedState: 'paused' }))
  await expectStale(() => operations.retry(id, { expectedState: 'failed' }))
  await expectStale(() => operations.finalize(id, { expectedState: 'paused' }))
  await operations.set(id, { pace: 0.5 }, { expectedState: 'queued' })
  await operations.cancel(id, { expectedState: 'queued' })
  await operations.disable('count', { expectedState: 'enabled' })
  await expectStale(() => operations.disable('count', { expectedState: 'enabled' }))
  await operations.enable('count', { expectedState: 'disabled' })
  await expectStale(() => operations.enable('count', { expectedState: 'disabled' }))
  await operations.disableAll({ expectedState: 'enabled' })
  await expectStale(() => operations.disableAll({ expectedState: 'enabled' }))
  await operations.enableAll({ expectedState: 'disabled' })
  await expectStale(() => operations.enableAll({ expectedState: 'disabled' }))
})
