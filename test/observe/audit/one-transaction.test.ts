import { afterAll, beforeAll, expect, test } from 'vitest'
import { defineJob, defineOperation, defineSchedule, Sluice, sql } from '../../../src/index.ts'
import { testDatabase, type TestDatabase } from '../../support/database.ts'

const noop = defineJob({ name: 'noop', queue: 'mail', perform: () => undefined })
const count = defineOperation({
  name: 'count',
  table: 'counters',
  perform: ({ batch }) => batch.update(sql`n = n + 1`),
})
const nightly = defineSchedule({ name: 'nightly', cron: '0 3 * * *', job: noop })

let db: TestDatabase
let sluice: Sluice

beforeAll(async () => {
  db = await testDatabase()
  await db.query('create table counters (id int primary key, n int not null default 0)')
  sluice = new Sluice({ database: db.workerUrl, jobs: [noop], operations: [count], schedules: [nightly] })
  await sluice.jobs.enqueue(noop)
})
afterAll(async () => {
  await sluice.stop()
  await db[Symbol.asyncDispose]()
})

/** Each verb acts, and says which row it has changed. */
const verbs: Record<string, () => Promise<string>> = {
  'queue.pause': async () => {
    await sluice.queues.pause('mail')
    return `queue where name = 'mail'`
  },
  'schedule.disable': async () => {
    await sluice.schedules.disable('nightly')
    return `schedule where name = 'nightly'`
  },
  'schedule.run': async () => {
    await sluice.schedules.run('nightly')
    return `schedule_tick where schedule = 'nightly'`
  },
  'job.cancel': async () => {
    const { id } = await sluice.jobs.enqueue(noop)
    await sluice.jobs.cancel(id)
    return `job_dead where id = ${id}`
  },
  'job.run': async () => {
    const { id } = await sluice.jobs.enqueue(noop, undefined, { in: '1h' })
    await sluice.jobs.run(id)
    return `job where id = ${id}`
  },
  'batch.cancel': async () => {
    const { id } = await sluice.batches.open()
    await sluice.batches.cancel(id)
    return `job_batch_history where id = ${id}`
  },
  'operation.start': async () => {
    const { id } = await sluice.operations.start(count)
    return `operation where id = '${id}'`
  },
  'operation.disable': async () => {
    await sluice.operations.disable('count')
    return `disabled_operation`
  },
}

test.each(Object.keys(verbs))('the row of %s is written in the transaction of the change', async (action) => {
  const changed = await verbs[action]?.()
  const audited = await db.value('select xmin::text from sluice.audit where action = $1', [action])
  expect(audited).toEqual(expect.any(String))
  expect(await db.value(`select xmin::text from sluice.${changed}`)).toBe(audited)
})
