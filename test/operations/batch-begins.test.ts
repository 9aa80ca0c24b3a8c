// A batch that begins asks the database some things before its first row: errors there have classes, too.
import { expect, test } from 'vitest'
import { expire } from '../../src/index.ts'
import { runBatch } from '../../src/operations/batch-loop.ts'
import type { TestDatabase } from '../support/database.ts'
import { startFaultProxy } from '../support/fault-proxy/index.ts'
import { counters } from '../support/working.ts'
import { claimFirst, type Claimed } from './claimed.ts'

const old = expire({ name: 'old', table: 'counters', olderThan: '1 day', by: 'at', batchSize: 100, verify: false })
/** The first statement of a batch whose scope is an age. */
const ageLimit = /to_json/
const states = `select string_agg(status, ' ') from (select status from sluice.operation
  union all select status from sluice.operation_history) o`

async function aged(): Promise<TestDatabase> {
  const db = await counters(100)
  await db.query(`alter table counters add column at timestamptz not null default now() - interval '2 days'`)
  return db
}

/** Runs the first batch through a proxy that fails the first statement of it. */
async function beginWith(db: TestDatabase, fault: string, check: (claimed: Claimed) => Promise<void>): Promise<void> {
  const { hostname: host, port } = new URL(db.url)
  await using proxy = await startFaultProxy({ host, port: Number(port) })
  await using claimed = await claimFirst(db, old, proxy.url(db.workerUrl))
  const planted =
    fault === 'lost'
      ? proxy.dropAnswerTo(ageLimit, { times: 2, ending: 'rst' })
      : proxy.answer(fault, { to: ageLimit, times: 2 })
  await runBatch(claimed.run)
  expect(planted.hits).toBeGreaterThan(0)
  await check(claimed)
}

test.each([
  ['its connection is lost', 'lost'],
  ['the server is restarted', '57P01'],
  ['the server does not let it in', '28P01'],
  ['a statement is canceled', '57014'],
])('a batch goes on when %s while it begins', async (_, fault) => {
  await using db = await aged()
  await beginWith(db, fault, async ({ events }) => {
    expect(events.payloads('batch.retried')).toMatchObject([{ attempt: 1 }, { attempt: 2 }])
    expect(events.payloads('batch.finished')).toMatchObject([{ rowsChanged: 100 }])
    expect(await db.value('select count(*)::int from counters')).toBe(0)
    expect(await db.value(states)).toBe('active')
  })
})

test('an operation is held when the server lacks something while a batch begins', async () => {
  await using db = await aged()
  await beginWith(db, '53200', async ({ events }) => {
    expect(events.count('operation.failed')).toBe(0)
    expect(await db.value(states)).toBe('held')
    expect(await db.value('select errors from sluice.batch')).toBe(0)
  })
})

test('an operation fails when what a batch begins with can never work', async () => {
  await using db = await aged()
  await beginWith(db, '42703', async () => expect(await db.value(states)).toBe('failed'))
})

test('rows on which workers died are not tried again when they cannot be isolated', async () => {
  await using db = await aged()
  const { hostname: host, port } = new URL(db.url)
  await using proxy = await startFaultProxy({ host, port: Number(port) })
  await using claimed = await claimFirst(db, old, proxy.url(db.workerUrl))
  claimed.run.batch.crashes = 3
  const refused = proxy.answer('57014', { to: /insert into sluice\.quarantine/, times: 1 })
  await runBatch(claimed.run)
  expect(refused.hits).toBe(1)
  expect(await db.value('select count(*)::int from counters')).toBe(100)
  expect(await db.value('select state from sluice.batch')).toBe('ready')
})
