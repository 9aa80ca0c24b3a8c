import sql from 'sql-template-tag'
import { expect, test } from 'vitest'
import { backfill, expire } from '../../src/index.ts'
import { changeInOne, type OneStatement } from '../../src/targets/postgres/one-statement.ts'
import type { TestDatabase } from '../support/database.ts'
import { startFaultProxy } from '../support/fault-proxy/index.ts'
import { openClient } from '../support/jobs.ts'
import { counters, patient, working } from '../support/working.ts'

const finish = backfill({
  name: 'finish',
  table: 'counters',
  set: { done: sql`true` },
  subBatchSize: 100,
  batchSize: 700,
})

/** Rows that tell how often they were updated. */
async function counted(rows: number): Promise<TestDatabase> {
  const db = await counters(rows)
  await db.query(`create function count_up() returns trigger language plpgsql as
    $$ begin new.n := old.n + 1; return new; end $$`)
  await db.query('create trigger count_up before update on counters for each row execute function count_up()')
  return db
}

test('a preset changes each row once and counts it once, though answers are lost', async () => {
  await using db = await counted(2_000)
  const upstream = new URL(db.url)
  await using proxy = await startFaultProxy({ host: upstream.hostname, port: Number(upstream.port) })
  const { sluice, events } = working(db, [finish], { ...patient, database: proxy.url(db.workerUrl) })
  await using _ = sluice
  await sluice.start()
  const lost = proxy.dropAnswerTo(/sluice_claim/, { times: 3, ending: 'rst' })
  await sluice.operations.start(finish)
  expect(await events.event('operation.finished')).toMatchObject({ rowsSeen: 2_000, rowsChanged: 2_000 })
  expect(lost.hits).toBe(3)
  expect(await db.value('select count(*)::int from counters where n <> 1 or not done')).toBe(0)
  const outcomes = events.payloads('sub-batch.doubted').map(({ outcome }) => outcome)
  expect(outcomes).toEqual(['committed', 'committed', 'committed'])
})

test('nothing changes for who has not the nonce, is not where he thinks, or is not wanted', async () => {
  await using db = await counted(500)
  const { sluice } = working(db, [finish])
  await using _ = sluice
  const { id } = await sluice.operations.start(finish)
  await db.query(`update sluice.operation set status = 'active'`)
  const [claim] = await db.query<{ batchId: string; nonce: string }>(
    `insert into sluice.batch (id, operation_id, seq, upper_key, state, nonce, worker_id, lease_until, sub_batch_size)
     values (gen_random_uuid(), '${id}', 1, '{500}', 'running', gen_random_uuid(), gen_random_uuid(), now() + interval '1 hour', 100)
     returning id as "batchId", nonce`,
  )
  await using client = await openClient(db.workerUrl)
  const connection = { schema: 'sluice', query: (text: string, values: unknown[]) => client.query(text, values) }
  const order: OneStatement = {
    claim: claim ?? expect.unreachable(),
    from: null,
    to: ['100'],
    rowsSeen: 100,
    leaseMs: 60_000,
    change: (also) => sql`update counters set done = true where id <= 100 and ${also} returning 1`,
    ahead: sql`select array[id::text] from counters where id > 100 order by id offset 99 limit 1`,
  }
  const stranger = { ...order, claim: { ...order.claim, nonce: '00000000-0000-4000-8000-000000000000' } }
  const changed = (): Promise<number> => db.value('select count(*)::int from counters where n > 0')

  expect(await changeInOne(connection, stranger)).toBeUndefined()
  expect(await changeInOne(connection, { ...order, from: ['7'] })).toMatchObject({ here: false, moved: false, rows: 0 })
  await db.query(`update sluice.operation set status = 'paused'`)
  expect(await changeInOne(connection, order)).toMatchObject({ here: true, moved: false, rows: 0 })
  await db.query(
    `update sluice.operation set status = 'active'; insert into sluice.disabled_operation (name) values ('finish')`,
  )
  expect(await changeInOne(connection, order)).toMatchObject({ here: true, moved: false, rows: 0 })
  expect(await changed()).toBe(0)
  await db.query('delete from sluice.disabled_operation')
  expect(await changeInOne(connection, order)).toMatchObject({ here: true, moved: true, rows: 100, ahead: ['200'] })
  expect(await changed()).toBe(100)
  expect(
    await db.query('select checkpoint, rows_seen::int, rows_changed::int, sub_batches::int from sluice.batch'),
  ).toEqual([{ checkpoint: ['100'], rows_seen: 100, rows_changed: 100, sub_batches: 1 }])
})

test('windows beyond some thousand rows are found while rows change, and all are met', async () => {
  await using db = await counted(30_000)
  const all = expire({
    name: 'all',
    table: 'counters',
    olderThan: '1 day',
    by: 'at',
    subBatchSize: 4_000,
    batchSize: 30_000,
  })
  await db.query(`alter table counters add column at timestamptz not null default now() - interval '2 days'`)
  await db.query('update counters set at = now() where id % 10 = 0')
  const { sluice, events } = working(db, [all])
  await using _ = sluice
  await sluice.start()
  await sluice.operations.start(all)
  expect(await events.event('operation.finished')).toMatchObject({ rowsSeen: 30_000, rowsChanged: 27_000 })
  expect(await db.value('select count(*)::int from counters')).toBe(3_000)
  expect(
    events
      .payloads('sub-batch.committed')
      .slice(0, 7)
      .map(({ rowsSeen }) => rowsSeen),
  ).toEqual(Array.from({ length: 7 }, () => 4_000))
})
