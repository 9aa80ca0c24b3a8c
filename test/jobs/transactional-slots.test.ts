import { expect, test, vi } from 'vitest'
import { defineJob, type JobDefinition } from '../../src/index.ts'
import { signal as gateOf } from '../patterns/inbox/ground.ts'
import { testDatabase } from '../support/database.ts'
import { startedWorker } from '../support/jobs.ts'
import { until } from '../support/wait.ts'
import { patient } from './store-by-hand.ts'

/** A transactional job that goes on until the gate is open, and how many of them ran at once at most. */
function gated() {
  let [running, peak] = [0, 0]
  const gate = gateOf()
  const job: JobDefinition<undefined> = defineJob({
    name: 'gated',
    transaction: true,
    timeout: '1h',
    async perform() {
      running += 1
      peak = Math.max(peak, running)
      await gate.given
      running -= 1
    },
  })
  return { job, open: gate.give, running: () => running, peak: () => peak }
}

test('transactional jobs beyond the connections that there are for them wait for one', async () => {
  await using db = await testDatabase()
  const { job, open, running, peak } = gated()
  const plain = defineJob({ name: 'plain', perform: () => undefined })
  await using worker = await startedWorker(db, [job, plain], { concurrency: 26 }, patient)
  await worker.jobs.enqueueMany(job, Array.from({ length: 25 }))
  await worker.events.event('job.started', { nth: 25 })
  await until('as many run as may', () => running() >= 20)
  // Its claim and its ending are round trips, in which others would have begun.
  await worker.jobs.enqueue(plain)
  await worker.events.event('job.finished')
  open()

  await worker.events.event('job.finished', { nth: 26 })

  expect(peak()).toBe(20)
  expect(worker.events.count('job.retried')).toBe(0)
})

test('the time in which a job waits for a connection does not count against its timeout', async () => {
  await using db = await testDatabase()
  const { job, open, running } = gated()
  const brief = defineJob({ name: 'brief', transaction: true, timeout: '1m', perform: async () => undefined })
  const endless = defineJob({
    name: 'endless',
    timeout: '1m',
    retry: false,
    perform: ({ signal: ending }) =>
      new Promise<void>((_, reject) => {
        ending.addEventListener('abort', () => reject(ending.reason as Error))
      }),
  })
  await using worker = await startedWorker(db, [job, brief, endless], { concurrency: 22 }, patient)
  await worker.jobs.enqueueMany(job, Array.from({ length: 20 }))
  await until('all connections are taken', () => running() === 20)
  await worker.jobs.enqueue(endless)
  const { id } = await worker.jobs.enqueue(brief)
  await worker.events.event('job.started', { nth: 22 })
  const now = performance.now.bind(performance)
  using _later = vi.spyOn(performance, 'now').mockImplementation(() => now() + 120_000)
  // Whoever stops this one looks at all others, too.
  await worker.events.event('job.died')
  open()

  await worker.events.event('job.finished', { nth: 21 })

  expect(worker.events.payloads('job.finished').map(({ jobId }) => jobId)).toContain(id)
  expect(worker.events.count('job.retried')).toBe(0)
})
