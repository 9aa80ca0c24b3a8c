// The tools of sluice/testing delete queues and run what is in them. They must never meet a real one.
import { afterEach, beforeEach, describe, expect, inject, test, vi } from 'vitest'
import { defineJob, defineSchedule, Sluice } from '../../src/index.ts'
import { isTestName } from '../../src/store/for-tests.ts'
import { testJobs, testSchedules } from '../../src/testing/index.ts'
import { testDatabase, type TestDatabase } from '../support/database.ts'

const ran: string[] = []
const work = defineJob({ name: 'work', perform: () => void ran.push('work') })
const booking = defineJob({ name: 'booking', transaction: true, perform: () => void ran.push('booking') })
const reading = defineJob({
  name: 'reading',
  guard: async ({ db: connection }) => (await connection.query('select 1', [])).rows.length > 0,
  perform: () => void ran.push('reading'),
})
const hourly = defineSchedule({ name: 'hourly', cron: '0 * * * *', job: work })

let db: TestDatabase
let sluice: Sluice

beforeEach(async () => {
  ran.length = 0
  db = await testDatabase(inject('clusterUrl'), { begins: 'contests' })
  sluice = new Sluice({ database: db.workerUrl, jobs: [work, booking, reading], schedules: [hourly] })
  await sluice.jobs.enqueueMany(work, [undefined, undefined])
})

afterEach(async () => {
  vi.unstubAllEnvs()
  await sluice.stop()
  await db[Symbol.asyncDispose]()
})

const tools: [name: string, use: (app: Sluice) => Promise<unknown>][] = [
  ['clear', (app) => testJobs(app).clear()],
  ['drain', (app) => testJobs(app).drain()],
  ['clock.travel', (app) => testJobs(app).clock.travel('1h')],
  ['run of a transactional job', (app) => testJobs(app).run(booking)],
  ['run of a job that asks the database', (app) => testJobs(app).run(reading)],
  ['pass of a schedule', (app) => testSchedules(app).pass(hourly, '1h')],
]

describe('a database that is not marked for tests', () => {
  test.each(tools)('is refused by %s, and its queue stays', async (_name, use) => {
    await expect(use(sluice)).rejects.toMatchObject({
      code: 'DATABASE_NOT_FOR_TESTS',
      message: expect.stringContaining('set sluice.for_tests = on') as string,
    })
    expect(await db.value('select count(*)::int from sluice.job')).toBe(2)
    expect(await db.value('select count(*)::int from sluice.schedule')).toBe(0)
    expect(ran).toEqual([])
  })

  test('is taken for one once it is marked', async () => {
    await db.query(
      `do $$ begin execute format('alter database %I set sluice.for_tests = on', current_database()); end $$`,
    )
    await using marked = new Sluice({ database: db.workerUrl, jobs: [work] })
    expect(await testJobs(marked).drain()).toHaveLength(2)
  })

  test('is marked by a connection that says so', async () => {
    const url = new URL(db.workerUrl)
    url.searchParams.set('options', '-c sluice.for_tests=on')
    await using marked = new Sluice({ database: url.href, jobs: [work] })
    expect(await testJobs(marked).clear()).toBe(2)
  })
})

test('in production even a database for tests is refused', async () => {
  await using other = await testDatabase()
  await using app = new Sluice({ database: other.workerUrl, jobs: [work, booking, reading], schedules: [hourly] })
  await app.jobs.enqueue(work)
  vi.stubEnv('NODE_ENV', 'production')
  for (const [name, use] of tools) {
    await expect(use(app), name).rejects.toMatchObject({ code: 'DATABASE_NOT_FOR_TESTS' })
  }
  expect(await other.value('select count(*)::int from sluice.job')).toBe(1)
})

test('a database or schema that is given without a value is refused; left out, the environment decides', () => {
  vi.stubEnv('SLUICE_DATABASE_URL', db.url)
  for (const config of [{ database: undefined }, { database: null as never }, { schema: undefined }]) {
    const [option] = Object.keys(config)
    expect(() => new Sluice(config)).toThrow(
      expect.objectContaining({ code: 'CONFIG_INVALID', details: { option } }) as Error,
    )
  }
  expect(() => new Sluice({})).not.toThrow()
})

test('the word "test" in the name of a database marks it', () => {
  const forTests = ['test', 'tests', 'app_test', 'test_7f3a', 'app-test-4', 'App.Test', 'e2e_tests_2', 'test1']
  const real = ['app', 'contest', 'latest', 'testimonials', 'testing', 'attestation', 'protest_db', 'app_tester', '']
  expect(forTests.filter((name) => !isTestName(name))).toEqual([])
  expect(real.filter(isTestName)).toEqual([])
})
