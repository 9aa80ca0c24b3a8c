import { expect, test } from 'vitest'
import { Sluice } from '../../../src/index.ts'
import { testDatabase, type TestDatabase } from '../../support/database.ts'
import { openClient } from '../../support/jobs.ts'
import { until } from '../../support/wait.ts'
import { working } from '../../support/working.ts'

/** Acts of some days ago. */
async function actsOf(db: TestDatabase, days: number, number: number): Promise<void> {
  await db.query(
    `insert into sluice.audit (at, source, action, target)
     select clock_timestamp() - $1::int * interval '1 day', 'cli', 'queue.pause', $1::int::text from generate_series(1, $2::int)`,
    [days, number],
  )
}

async function summariesOf(db: TestDatabase, days: number, number: number): Promise<void> {
  await db.query(
    `insert into sluice.operation_summary (id, name, status, rows_changed, rows_quarantined, created_at, finished_at)
     select gen_random_uuid(), $1::int::text, 'finished', 1, 0, clock_timestamp() - ($1::int + 1) * interval '1 day',
       clock_timestamp() - $1::int * interval '1 day'
     from generate_series(1, $2::int)`,
    [days, number],
  )
}

/** How many there are of each number of days. */
const kept = async (db: TestDatabase): Promise<object> => ({
  acts: await db.query(`select target as days, count(*)::int as n from sluice.audit group by 1 order by target::int`),
  summaries: await db.query(
    `select name as days, count(*)::int as n from sluice.operation_summary group by 1 order by 1`,
  ),
})

/** Waits until a worker has kept house once. It forgets silent workers on its way: when it does so again, it was through. */
async function houseKept(db: TestDatabase): Promise<void> {
  for (const host of ['silent', 'silent, too']) {
    await db.query(
      `insert into sluice.worker (id, host, pid, version, operations, seen_at)
       values (gen_random_uuid(), $1, 1, '0', '{}', clock_timestamp() - interval '1 day')`,
      [host],
    )
    const there = (): Promise<number> => db.value('select count(*)::int from sluice.worker where host = $1', [host])
    await until(`the worker "${host}" is forgotten`, async () => (await there()) === 0)
  }
}

test('acts and summaries older than their retention are forgotten by any worker, all others stay', async () => {
  await using db = await testDatabase()
  await actsOf(db, 61, 2_500)
  await actsOf(db, 59, 3)
  await summariesOf(db, 91, 2_500)
  await summariesOf(db, 89, 2)
  const { sluice } = working(db, [], { history: { audit: '60 days', summaries: '90 days' } })
  await using _ = sluice
  await sluice.start()
  const left = { acts: [{ days: '59', n: 3 }], summaries: [{ days: '89', n: 2 }] }
  await houseKept(db)
  expect(await kept(db)).toEqual(left)
})

test('two years are kept where nothing else is said', async () => {
  await using db = await testDatabase()
  for (const days of [729, 731]) {
    await actsOf(db, days, 1)
    await summariesOf(db, days, 1)
  }
  const { sluice } = working(db, [])
  await using _ = sluice
  await sluice.start()
  const left = { acts: [{ days: '729', n: 1 }], summaries: [{ days: '729', n: 1 }] }
  await houseKept(db)
  expect(await kept(db)).toEqual(left)
})

test('no act of the last 30 days is forgotten, whatever a worker asks for', async () => {
  await using db = await testDatabase()
  await actsOf(db, 31, 1)
  await actsOf(db, 29, 1)
  await using worker = await openClient(db.workerUrl)
  expect((await worker.query('select sluice.forget_acts(0, 1000) as forgotten')).rows).toEqual([{ forgotten: 1 }])
  await expect(worker.query('delete from sluice.audit')).rejects.toMatchObject({ code: '42501' })
  expect(await kept(db)).toMatchObject({ acts: [{ days: '29', n: 1 }] })
  expect(() => new Sluice({ history: { audit: '29 days' } })).toThrow(/"history.audit" must be a time.*at least 30 d/)
})

test('not even the owner deletes an act, also in the transaction that forgets others', async () => {
  await using db = await testDatabase()
  await actsOf(db, 31, 1)
  await actsOf(db, 29, 1)
  await using owner = await openClient(db.url)
  await owner.query('begin')
  await owner.query('select sluice.forget_acts(30, 1000)')
  await expect(owner.query('delete from sluice.audit')).rejects.toMatchObject({ code: '42501' })
})
