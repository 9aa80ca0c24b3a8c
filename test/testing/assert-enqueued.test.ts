import { AssertionError } from 'node:assert'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { z } from 'zod'
import { defineJob, Sluice } from '../../src/index.ts'
import { testJobs, type TestJobs } from '../../src/testing/index.ts'
import { testDatabase, type TestDatabase } from '../support/database.ts'

const welcome = defineJob({
  name: 'welcome',
  args: z.object({ userId: z.number(), at: z.coerce.date().optional() }),
  perform: () => undefined,
})
const tidy = defineJob({ name: 'tidy', perform: () => undefined })

let db: TestDatabase
let sluice: Sluice
let jobs: TestJobs

beforeAll(async () => {
  db = await testDatabase()
  sluice = new Sluice({ database: db.workerUrl })
  jobs = testJobs(sluice)
})

afterAll(async () => {
  await sluice.stop()
  await db[Symbol.asyncDispose]()
})

beforeEach(() => jobs.clear())

test('what is enqueued can be listed, in order and of one kind', async () => {
  await sluice.jobs.enqueueMany(welcome, [{ userId: 1 }, { userId: 2 }])
  await sluice.jobs.enqueue(tidy)
  expect((await jobs.enqueued()).map(({ name }) => name)).toEqual(['welcome', 'welcome', 'tidy'])
  expect((await jobs.enqueued(welcome)).map(({ args }) => args)).toEqual([{ userId: 1 }, { userId: 2 }])
})

test('all of it, however much', async () => {
  await sluice.jobs.enqueueMany(
    welcome,
    Array.from({ length: 2_345 }, (_, userId) => ({ userId })),
  )
  const found = await jobs.enqueued(welcome)
  expect(found.map(({ args }) => (args as { userId: number }).userId)).toEqual(
    Array.from({ length: 2_345 }, (_, userId) => userId),
  )
})

test('an enqueued job is found by kind and by exact args', async () => {
  const at = new Date('2026-05-01T00:00:00Z')
  await sluice.jobs.enqueue(welcome, { userId: 7, at }, { in: '1h' })
  await jobs.assertEnqueued(welcome)
  await jobs.assertEnqueued(welcome, { at, userId: 7 })
  await jobs.assertNotEnqueued(welcome, { userId: 7 })
  await jobs.assertNotEnqueued(tidy)
})

test('what is missing is told, with what is there instead', async () => {
  const missing = jobs.assertEnqueued(welcome, { userId: 7 })
  await expect(missing).rejects.toThrow(AssertionError)
  await expect(missing).rejects.toThrow(
    'A job "welcome" with the args {"userId":7} should be enqueued, but is not.\nThe queue is empty.',
  )
  const { id } = await sluice.jobs.enqueue(welcome, { userId: 8 })
  const later = await sluice.jobs.enqueue(tidy, undefined, { at: new Date('2030-01-01T00:00:00Z') })
  await expect(jobs.assertEnqueued(welcome, { userId: 7 })).rejects.toThrow(
    `Enqueued are:\n  ${id} welcome {"userId":8} (waiting)\n  ${later.id} tidy {} (scheduled for 2030-01-01T00:00:00.000Z)`,
  )
})

test('what should not be there is told', async () => {
  const { id } = await sluice.jobs.enqueue(welcome, { userId: 8 })
  await expect(jobs.assertNotEnqueued(welcome)).rejects.toThrow(
    `No job "welcome" should be enqueued, but there is:\n  ${id} welcome {"userId":8} (waiting)`,
  )
  await expect(jobs.assertNotEnqueued(welcome, { userId: 8 })).rejects.toThrow(AssertionError)
})

test('a long list is cut', async () => {
  await sluice.jobs.enqueueMany(
    welcome,
    Array.from({ length: 25 }, (_, userId) => ({ userId })),
  )
  await expect(jobs.assertEnqueued(tidy)).rejects.toThrow('(waiting)\n  and 5 more')
})
