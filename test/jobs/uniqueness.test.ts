import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { defineJob, type JobDefinition } from '../../src/index.ts'
import { testDatabase } from '../support/database.ts'
import { jobWorker, liveJobs, startedWorker } from '../support/jobs.ts'

const pair = z.object({ a: z.number(), b: z.number().optional() })
const idle = { args: pair, perform: () => undefined } as const

test('the key is the args, in whatever order they are given', async () => {
  await using db = await testDatabase()
  const once = defineJob({ name: 'once', unique: {}, ...idle })
  await using worker = jobWorker(db, [once])
  const first = await worker.jobs.enqueue(once, { a: 1, b: 2 })
  expect(first.duplicate).toBe(false)
  expect(await worker.jobs.enqueue(once, { b: 2, a: 1 })).toEqual({ id: first.id, duplicate: true })
  expect(await worker.jobs.enqueue(once, { a: 1 })).toMatchObject({ duplicate: false })
  expect(await worker.jobs.enqueue(once, { a: 1, b: 3 })).toMatchObject({ duplicate: false })
  expect(await liveJobs(db)).toBe(3)
})

test('a key of the definition decides instead, for each job name on its own', async () => {
  await using db = await testDatabase()
  const unique = { key: ({ a }: { a: number }) => `a${a}` }
  const one = defineJob({ name: 'one', unique, ...idle })
  const two = defineJob({ name: 'two', unique, ...idle })
  await using worker = jobWorker(db, [one, two])
  await worker.jobs.enqueue(one, { a: 1, b: 1 })
  expect(await worker.jobs.enqueue(one, { a: 1, b: 2 })).toMatchObject({ duplicate: true })
  expect(await worker.jobs.enqueue(two, { a: 1, b: 1 })).toMatchObject({ duplicate: false })
  expect((await worker.jobs.locks()).map(({ name, key: taken }) => [name, taken])).toEqual([
    ['two', 'a1'],
    ['one', 'a1'],
  ])
})

/** A job that enqueues itself three times, and the answers that it got. */
const requeueing = (
  end: 'start' | 'success',
  transaction: boolean,
): { job: JobDefinition<undefined>; answers: unknown[] } => {
  const answers: unknown[] = []
  const spec = { name: 'requeue', unique: { until: end } } as const
  const job: JobDefinition<undefined> = transaction
    ? defineJob({ ...spec, transaction: true, perform: async ({ enqueue }) => again(enqueue) })
    : defineJob({ ...spec, perform: async ({ enqueue }) => again(enqueue) })
  const again = async (enqueue: (definition: typeof job) => Promise<{ duplicate: boolean }>): Promise<void> => {
    if (answers.length < 3) answers.push((await enqueue(job)).duplicate)
  }
  return { job, answers }
}

describe('from inside perform', () => {
  test.each([false, true])('a job requeues itself under until start (in a transaction: %s)', async (transaction) => {
    await using db = await testDatabase()
    const { job, answers } = requeueing('start', transaction)
    await using worker = await startedWorker(db, [job])
    await worker.jobs.enqueue(job)
    await worker.events.event('job.finished', { nth: 4 })
    expect(answers).toEqual([false, false, false])
    expect(await liveJobs(db)).toBe(0)
  })

  test.each([false, true])('and is refused under until success (in a transaction: %s)', async (transaction) => {
    await using db = await testDatabase()
    const { job, answers } = requeueing('success', transaction)
    await using worker = await startedWorker(db, [job])
    await worker.jobs.enqueue(job)
    await worker.events.event('job.finished')
    expect(answers).toEqual([true])
    expect(await liveJobs(db)).toBe(0)
    // After its end the way is free.
    expect(await worker.jobs.enqueue(job)).toMatchObject({ duplicate: false })
  })
})
