import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { MessageChannel } from 'node:worker_threads'
import { expect, test } from 'vitest'
import { defineJob } from '../../src/index.ts'
import { boardBytes } from '../../src/runtime/lease-board.ts'
import { openRenewal, type RenewalOrder, type ToRenewal } from '../../src/runtime/renewal-thread.ts'
import { Renewer } from '../../src/runtime/renewer.ts'
import { testDatabase } from '../support/database.ts'
import { drained, startedWorker } from '../support/jobs.ts'

/** The thread dies of an order without a board: what nothing should send it. */
function kill(): Promise<Error> {
  return new Promise((resolve) => openRenewal({} as RenewalOrder, resolve))
}

test('when the thread that extends leases dies, all workers of the process stop, and the next one has a new thread', async () => {
  await using db = await testDatabase()
  const noop = defineJob({ name: 'noop', perform: () => undefined })
  await using first = await startedWorker(db, [noop])
  await using second = await startedWorker(db, [noop])
  expect((await kill()).message).toContain('atomic access')
  for (const { events } of [first, second]) {
    expect(await events.event('warning')).toMatchObject({ message: expect.stringContaining('Leases are not renewed') })
    await events.event('worker.stopped')
  }
  expect(await first.sluice.workers()).toEqual([])
  await using third = await startedWorker(db, [noop])
  await third.jobs.enqueue(noop)
  await drained(db)
  expect(third.events.count('warning')).toBe(0)
})

test('a worker that has left before its thread began is not brought back by it', async () => {
  await using db = await testDatabase()
  const row = { id: randomUUID(), host: 'host', pid: 1, version: '1', operations: [], jobs: [], sweeps: [] }
  const timeouts = { statementMs: 60_000, lockMs: 60_000, idleInTransactionMs: 60_000 }
  const order: RenewalOrder = {
    database: { url: db.workerUrl, schema: 'sluice', timeouts },
    worker: { ...row, queues: [], concurrency: 1 },
    board: new SharedArrayBuffer(boardBytes),
    leaseMs: 60_000,
    noProgressMs: 60_000,
  }
  const { port1: worker, port2: thread } = new MessageChannel()
  worker.postMessage({ kind: 'stop' } satisfies ToRenewal)
  await new Renewer(order, thread).run()
  expect(await db.value('select count(*)::int from sluice.worker')).toBe(0)
  worker.close()
  await once(thread, 'close')
})
