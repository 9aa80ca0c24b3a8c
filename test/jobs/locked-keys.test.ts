// Calls of the same moment share a statement. One that has to wait for an open transaction must not keep the others.
import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineInbox, defineJob, type EnqueuedJob } from '../../src/index.ts'
import { testDatabase, type TestDatabase } from '../support/database.ts'
import { jobWorker, openClient } from '../support/jobs.ts'
import { until } from '../support/wait.ts'
import { patient } from './store-by-hand.ts'

const sync = defineJob({
  name: 'sync',
  args: z.object({ id: z.number() }),
  unique: { until: 'start' },
  perform: () => undefined,
})

const enqueuing = (db: TestDatabase): Promise<number> =>
  db.value(`select count(*)::int from pg_stat_activity
    where datname = current_database() and application_name like 'sluice%' and state <> 'idle'`)

test('a unique key of an open transaction makes nobody wait but those who want it', async () => {
  await using db = await testDatabase()
  // Nobody here gives up while the transaction is open: what ends before that has not waited for it.
  await using app = jobWorker(db, [sync], {}, patient)
  await app.jobs.enqueue(sync, { id: 1 })
  await using importing = await openClient(db.workerUrl)
  await importing.query('begin')
  const { id } = await app.jobs.enqueue(sync, { id: 100 }, { tx: importing })

  const same = [100, 100, 100].map((key) => app.jobs.enqueue(sync, { id: key }))
  const together = Array.from({ length: 40 }, (_, n) => app.jobs.enqueue(sync, { id: 200 + (n % 30) }))
  const again = app.jobs.enqueue(sync, { id: 100 })
  const others = await Promise.all(together)
  expect(others.filter(({ duplicate }) => !duplicate)).toHaveLength(30)
  expect(await app.jobs.enqueue(sync, { id: 300 })).toMatchObject({ duplicate: false })
  // Those who wait keep no connection for that.
  await until('nobody waits on a connection', async () => (await enqueuing(db)) === 0)
  await importing.query('commit')

  expect(await Promise.all([...same, again])).toEqual(Array.from({ length: 4 }, () => ({ id, duplicate: true })))
})

test('whoever waits for a unique key gives up when the lock limit is over, each for itself', async () => {
  await using db = await testDatabase()
  const limited = { ...patient, timeouts: { ...patient.timeouts, lock: '300ms' } } as const
  await using app = jobWorker(db, [sync], {}, limited)
  await app.jobs.enqueue(sync, { id: 1 })
  await using importing = await openClient(db.workerUrl)
  await importing.query('begin')
  await app.jobs.enqueue(sync, { id: 100 }, { tx: importing })
  await app.jobs.enqueue(sync, { id: 101 }, { tx: importing })

  const waiting = [100, 101, 100].map((id) => app.jobs.enqueue(sync, { id }))
  const settled = await Promise.allSettled<EnqueuedJob>(waiting)
  expect(settled.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected'])
  await expect(waiting[0]).rejects.toMatchObject({ code: '55P03' })
  await importing.query('rollback')
  expect(await app.jobs.enqueue(sync, { id: 100 })).toMatchObject({ duplicate: false })
})

test('a message whose key an open transaction has taken in makes no other message wait', async () => {
  await using db = await testDatabase()
  const payload = z.object({ n: z.number() })
  const inbox = defineInbox({ name: 'hooks', payload, key: ({ n }) => [String(n)], perform: () => undefined })
  await using app = jobWorker(db, [], {}, { ...patient, inboxes: [inbox] })
  const { inboxes } = app.sluice
  await inboxes.receive(inbox, { n: 1 })
  await using importing = await openClient(db.workerUrl)
  await importing.query('begin')
  const { id } = await inboxes.receive(inbox, { n: 100 }, { tx: importing })

  const same = [inboxes.receive(inbox, { n: 100 }), inboxes.receive(inbox, { n: 100 })]
  const others = await Promise.all(Array.from({ length: 20 }, (_, n) => inboxes.receive(inbox, { n: 200 + n })))
  expect(others.every(({ status }) => status === 'new')).toBe(true)
  await importing.query('commit')
  expect(await Promise.all(same)).toEqual([1, 2].map(() => ({ status: 'duplicate', id, differs: false })))
})
