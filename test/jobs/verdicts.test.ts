import { createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { cancel, defineJob, discardOn, JobTimeout, retryOn, snooze } from '../../src/index.ts'
import { testDatabase } from '../support/database.ts'
import { liveJobs, startedWorker } from '../support/jobs.ts'

const soon = { wait: 20 } as const

test('each attempt is stored with its verdict, its reason and its error, and the first matching rule decides', async () => {
  await using db = await testDatabase()
  class Slow extends Error {}
  const errors = [new Slow('a'), new RangeError('b'), new Slow('c'), new TypeError('d')]
  const mixed = defineJob({
    name: 'mixed',
    onError: [retryOn(Slow, { attempts: 3, ...soon }), retryOn(Error, { attempts: 9, ...soon })],
    perform({ job }) {
      const error = errors[job.attempt - 1]
      if (error !== undefined) throw error
    },
  })
  await using worker = await startedWorker(db, [mixed])
  const { id } = await worker.jobs.enqueue(mixed)
  expect(await worker.events.event('job.finished')).toMatchObject({ jobId: id, attempt: 5 })
  const { attempts, ...job } = await worker.jobs.get(id)
  expect(job).toMatchObject({ state: 'succeeded', attempt: 5 })
  expect(attempts.map(({ attempt, verdict, reason, error }) => [attempt, verdict, reason, error?.message])).toEqual([
    [1, 'retry', 'failure 1 of 3 on Slow', 'a'],
    [2, 'retry', 'failure 1 of 9 on Error', 'b'],
    [3, 'retry', 'failure 2 of 3 on Slow', 'c'],
    [4, 'retry', 'failure 2 of 9 on Error', 'd'],
  ])
  for (const { nextAt, workerId } of attempts) {
    expect(Number(nextAt)).toBeGreaterThan(Number(job.enqueuedAt))
    expect(workerId).toMatch(/^[0-9a-f-]{36}$/)
  }
})

test('a rule sees why fetch failed, and the attempt keeps it', async () => {
  await using db = await testDatabase()
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  // Nobody is there any more.
  await new Promise((resolve) => server.close(resolve))
  const call = defineJob({
    name: 'call',
    onError: [retryOn('ECONNREFUSED', { attempts: 2, ...soon })],
    retry: false,
    perform: async () => void (await fetch(`http://127.0.0.1:${port}`)),
  })
  await using worker = await startedWorker(db, [call])
  const { id } = await worker.jobs.enqueue(call)
  await worker.events.event('job.died')
  const { attempts } = await worker.jobs.get(id)
  expect(attempts).toMatchObject([
    { verdict: 'retry', reason: 'failure 1 of 2 on ECONNREFUSED', error: { message: 'fetch failed' } },
    { verdict: 'dead', error: { causes: [{ code: 'ECONNREFUSED' }] } },
  ])
})

test('after its last attempt a job is dead, with everything that is needed to take it up again', async () => {
  await using db = await testDatabase()
  const doomed = defineJob({
    name: 'doomed',
    args: z.object({ n: z.number() }),
    retry: { attempts: 3, ...soon },
    perform({ args }) {
      throw new Error(`no ${args.n}`)
    },
  })
  await using worker = await startedWorker(db, [doomed])
  const { id } = await worker.jobs.enqueue(doomed, { n: 7 }, { tags: ['x'], priority: 'low' })
  expect(await worker.events.event('job.died')).toMatchObject({ jobId: id, reason: 'failed 3 of 3 times on any error' })
  expect(await liveJobs(db)).toBe(0)
  const job = await worker.jobs.get(id)
  const kept = { args: { n: 7 }, tags: ['x'], priority: 'low', attempt: 3, error: { name: 'Error', message: 'no 7' } }
  expect(job).toMatchObject({ state: 'dead', reason: 'failed 3 of 3 times on any error', ...kept })
  expect(job.attempts.map(({ verdict }) => verdict)).toEqual(['retry', 'retry', 'dead'])
})

test('a discarded job is no failure: it ends at the first such error, with the reason', async () => {
  await using db = await testDatabase()
  class Gone extends Error {}
  const pointless = defineJob({
    name: 'pointless',
    onError: [discardOn(Gone)],
    perform() {
      throw new Gone('customer 7 is gone')
    },
  })
  await using worker = await startedWorker(db, [pointless])
  const { id } = await worker.jobs.enqueue(pointless)
  expect(await worker.events.event('job.discarded')).toMatchObject({ jobId: id, reason: 'discarded on Gone' })
  expect(await worker.jobs.get(id)).toMatchObject({
    state: 'discarded',
    attempt: 1,
    error: { message: 'customer 7 is gone' },
    attempts: [{ verdict: 'discarded', reason: 'discarded on Gone' }],
  })
  expect(worker.events.count('job.died') + worker.events.count('job.retried')).toBe(0)
})

test('retry: false lets a job die of its first error', async () => {
  await using db = await testDatabase()
  const once = defineJob({
    name: 'once',
    retry: false,
    perform() {
      throw new Error('cron comes again anyway')
    },
  })
  await using worker = await startedWorker(db, [once])
  const { id } = await worker.jobs.enqueue(once)
  await worker.events.event('job.died')
  expect(await worker.jobs.get(id)).toMatchObject({ state: 'dead', attempt: 1, reason: 'the job is not retried' })
})

test('a snooze counts as no attempt, however often', async () => {
  await using db = await testDatabase()
  const seen: number[] = []
  const patient = defineJob({
    name: 'patient',
    retry: { attempts: 2, ...soon },
    perform({ job }) {
      seen.push(job.attempt)
      if (seen.length <= 4) return snooze(10, 'the other side is asleep')
      if (seen.length === 5) throw new Error('once')
      return undefined
    },
  })
  await using worker = await startedWorker(db, [patient])
  const { id } = await worker.jobs.enqueue(patient)
  expect(await worker.events.event('job.snoozed')).toMatchObject({ reason: 'the other side is asleep', delayMs: 10 })
  expect(await worker.events.event('job.finished')).toMatchObject({ attempt: 2 })
  expect(seen).toEqual([1, 1, 1, 1, 1, 2])
  const { attempts } = await worker.jobs.get(id)
  expect(attempts.map(({ verdict }) => verdict)).toEqual(['snooze', 'snooze', 'snooze', 'snooze', 'retry'])
  expect(attempts[0]).toMatchObject({ reason: 'the other side is asleep', error: null })
})

test('a handler ends its job by returning cancel', async () => {
  await using db = await testDatabase()
  const enough = defineJob({ name: 'enough', perform: () => cancel('the order was taken back') })
  await using worker = await startedWorker(db, [enough])
  const { id } = await worker.jobs.enqueue(enough)
  expect(await worker.events.event('job.cancelled')).toMatchObject({ reason: 'the order was taken back' })
  expect(await worker.jobs.get(id)).toMatchObject({
    state: 'cancelled',
    reason: 'the order was taken back',
    error: null,
    attempts: [{ verdict: 'cancelled' }],
  })
})

describe('an attempt that takes too long', () => {
  test.each([
    ['listens to its signal', true],
    ['does not', false],
  ])('ends as a JobTimeout that rules can match, whether the handler %s', async (_, listens) => {
    await using db = await testDatabase()
    const reasons: unknown[] = []
    const hanging = defineJob({
      name: 'hanging',
      timeout: '200ms',
      onError: [retryOn(JobTimeout, { attempts: 2, ...soon })],
      retry: false,
      async perform({ signal }) {
        signal.addEventListener('abort', () => reasons.push((signal.reason as Error).name))
        await sleep(60_000, undefined, listens ? { signal, ref: false } : { ref: false })
      },
    })
    await using worker = await startedWorker(db, [hanging])
    const { id } = await worker.jobs.enqueue(hanging)
    expect(await worker.events.event('job.died')).toMatchObject({ reason: 'failed 2 of 2 times on JobTimeout' })
    const { attempts } = await worker.jobs.get(id)
    expect(attempts.map(({ error }) => error?.name)).toEqual(['JobTimeout', 'JobTimeout'])
    expect(reasons).toEqual(['JobTimeout', 'JobTimeout'])
  })
})

test.each([
  ['text', 'just text', 'just text'],
  ['undefined', undefined, 'undefined'],
  ['null', null, 'null'],
  ['an object', { code: 'E_ODD' }, '[object Object]'],
  ['text with bytes that cannot be stored', 'a\0b\uD800', 'a\uFFFDb\uFFFD'],
])('whatever a handler throws is stored: %s', async (_, thrown, message) => {
  await using db = await testDatabase()
  const odd = defineJob({
    name: 'odd',
    retry: { attempts: 2, ...soon },
    perform: () => {
      throw thrown
    },
  })
  await using worker = await startedWorker(db, [odd])
  const { id } = await worker.jobs.enqueue(odd)
  await worker.events.event('job.died')
  expect((await worker.jobs.get(id)).error).toMatchObject({ name: 'NotAnError', message })
})

test('args that no longer fit go to quarantine without a retry, with the reason', async () => {
  await using db = await testDatabase()
  let runs = 0
  const old = defineJob({ name: 'changed', args: z.object({ a: z.number() }), perform: () => undefined })
  const today = defineJob({ name: 'changed', args: z.object({ b: z.string() }), perform: () => void (runs += 1) })
  await using worker = await startedWorker(db, [today])
  const { id } = await worker.jobs.enqueue(old, { a: 1 })
  await worker.jobs.enqueue(today, { b: 'fits' })
  expect(await worker.events.event('job.quarantined')).toMatchObject({ jobId: id, error: { code: 'ARGS_INVALID' } })
  await worker.events.event('job.finished')
  expect(runs).toBe(1)
  expect(await worker.jobs.get(id)).toMatchObject({
    state: 'quarantined',
    reason: 'its args do not fit the definition any more',
    args: { a: 1 },
    attempts: [{ verdict: 'quarantined', error: { code: 'ARGS_INVALID' } }],
  })
})

test('a handler that is refused the args of another job fails by its own policy', async () => {
  await using db = await testDatabase()
  const other = defineJob({ name: 'other', args: z.object({ n: z.number() }), perform: () => undefined })
  const careless = defineJob({
    name: 'careless',
    retry: { attempts: 2, ...soon },
    async perform({ enqueue }) {
      await enqueue(other, { n: 'seven' } as never)
    },
  })
  await using worker = await startedWorker(db, [careless, other])
  const { id } = await worker.jobs.enqueue(careless)
  await worker.jobs.wait(id, { everyMs: 20 })
  expect(await worker.jobs.get(id)).toMatchObject({ state: 'dead', attempt: 2, error: { code: 'ARGS_INVALID' } })
})

test('what a handler says becomes an event', async () => {
  await using db = await testDatabase()
  const chatty = defineJob({ name: 'chatty', perform: ({ log }) => log('half way', { rows: 5 }) })
  await using worker = await startedWorker(db, [chatty])
  const { id } = await worker.jobs.enqueue(chatty)
  const expected = { jobId: id, name: 'chatty', message: 'half way', fields: { rows: 5 } }
  expect(await worker.events.event('job.logged')).toEqual(expected)
})
