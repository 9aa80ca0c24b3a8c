import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { defineJob } from '../../src/index.ts'
import { testDatabase } from '../support/database.ts'
import { jobWorker, shortLease, startedWorker } from '../support/jobs.ts'
import { until } from '../support/wait.ts'

function deferred(): { promise: Promise<void>; resolve: () => void } {
  let resolve!: () => void
  const promise = new Promise<void>((settle) => {
    resolve = settle
  })
  return { promise, resolve }
}

test('a drained worker takes no new work, finishes what it runs however long that takes, and goes', async () => {
  await using db = await testDatabase()
  const { promise: over, resolve: finish } = deferred()
  const told: string[] = []
  const long = defineJob({
    name: 'long',
    perform: async ({ signal }) => {
      signal.addEventListener('abort', () => told.push(String(signal.reason)))
      await over
    },
  })
  const short = defineJob({ name: 'short', perform: () => undefined })
  // Far less patience than the job takes: a drain has no limit, a stop has.
  const worker = { lease: '6s', stop: '50ms' } as const
  await using first = await startedWorker(db, [long, short], { concurrency: 1 }, { worker })
  const { id } = await first.jobs.enqueue(long)
  await first.events.event('job.started')
  const [row] = await first.sluice.workers()
  expect(row).toMatchObject({ drain_since: null, works_on: [{ kind: 'job', name: 'long', count: 1 }] })
  await using apart = jobWorker(db, [long, short])
  expect(await apart.sluice.drain(row?.id ?? '', { actor: 'ann', reason: 'the host goes away' })).toBe(true)
  expect(await apart.sluice.drain(row?.id ?? '', { actor: 'bob' })).toBe(false)
  await first.events.event('worker.draining')
  const later = await apart.jobs.enqueue(short)
  const [draining] = await apart.sluice.workers()
  expect(draining).toMatchObject({ id: row?.id, drain_by: 'ann', drain_since: expect.any(Date) })
  await sleep(500)
  expect(told).toEqual([])
  finish()
  await first.events.event('worker.stopped')
  expect(await apart.jobs.get(id)).toMatchObject({ state: 'succeeded' })
  expect(await apart.jobs.get(later.id)).toMatchObject({ state: 'waiting', attempt: 0 })
  expect(await apart.sluice.workers()).toEqual([])
  const { acts } = await apart.sluice.audit.list({ action: 'worker' })
  expect(acts).toMatchObject([{ action: 'worker.drain', target: row?.id, actor: 'ann', reason: 'the host goes away' }])
  // Started again it is another worker, which nobody has asked to end.
  await first.sluice.start()
  await until('the other job has run', async () => (await apart.jobs.get(later.id)).state === 'succeeded')
  expect(first.events.count('worker.draining')).toBe(1)
})

test('a worker that is not there cannot be drained, and a sign of life tells how it fares', async () => {
  await using db = await testDatabase()
  await using worker = await startedWorker(db, [], {}, { worker: shortLease })
  for (const id of ['8c5f8b9e-0000-7000-8000-000000000000', "' or true --"]) {
    await expect(worker.sluice.drain(id)).rejects.toMatchObject({ code: 'WORKER_NOT_FOUND' })
  }
  const vitals = async (): Promise<unknown[]> =>
    (await worker.sluice.workers()).map(({ memory_bytes: memory, loop_lag_ms: lag }) => [
      (memory ?? 0) > 1e7,
      lag !== null,
    ])
  await until('it has told', async () => JSON.stringify(await vitals()) === '[[true,true]]')
  expect((await worker.sluice.audit.list()).acts).toEqual([])
})

test('who starts twice at once has one worker, and a stop meanwhile leaves none behind', async () => {
  await using db = await testDatabase()
  const noop = defineJob({ name: 'noop', perform: () => undefined })
  await using one = jobWorker(db, [noop])
  const workers = () => db.value<number>('select count(*)::int from sluice.worker')
  await Promise.all([one.sluice.start(), one.sluice.start()])
  expect([await workers(), one.events.count('worker.started')]).toEqual([1, 1])
  await one.sluice.stop()
  const starting = one.sluice.start()
  await one.sluice.stop()
  await starting
  expect([await workers(), one.events.count('worker.stopped')]).toEqual([0, 2])
})
