import sql from 'sql-template-tag'
import { expect, test } from 'vitest'
import * as claims from '../../src/store/sweep-claims.ts'
import { holdSweep, lookAtSweep, offerWaiting, wantSweep } from '../../src/store/sweeps.ts'
import {
  countDue,
  findClaimed,
  lockClaimable,
  lockDue,
  lockStray,
  stamp,
  unstamp,
} from '../../src/targets/postgres/claim.ts'
import { finaliseRows, forgetUnlessDue, releaseReferences } from '../../src/targets/postgres/finalise.ts'
import { aged, readFound } from '../../src/targets/postgres/find.ts'
import { restingRows } from '../../src/targets/postgres/stuck.ts'
import { resolveSweptTable, type Marks, type SweptTable } from '../../src/targets/postgres/swept-table.ts'
import { testDatabase, type TestDatabase } from '../support/database.ts'
import { openClient } from '../support/jobs.ts'
import { explaining } from '../support/plans.ts'

/** Records of which few are pending, with the index that the guides name. */
async function manyRecords(): Promise<TestDatabase> {
  const db = await testDatabase()
  await db.query(`
    create table records (id int primary key, state text not null, changed_at timestamptz not null);
    insert into records
    select i, case when i % 500 = 0 then 'pending' when i % 700 = 0 then 'uploaded' else 'done' end,
      now() - interval '1 hour'
    from generate_series(1, 100000) i;
    create index records_open_idx on records (id) where state not in ('done', 'failed')`)
  await db.query('vacuum analyze records')
  return db
}

test('a reconciler walks its index, and reads no large table from end to end', async () => {
  await using db = await manyRecords()
  await using client = await openClient(db.url)
  const { connection, plans } = explaining(client)
  const pending = aged({ table: 'records', where: sql`state = 'pending'`, olderThanMs: 60_000, by: 'changed_at' })
  const [first] = await readFound(connection, pending, { which: 'first', limit: 100 })
  expect(first?.key).toBe('500')
  expect(await readFound(connection, pending, { which: { after: '50000' }, limit: 100 })).toHaveLength(100)
  const place = { table: 'records', key: 'id', state: 'state', changedAt: 'changed_at' }
  const resting = restingRows(place, [
    { name: 'pending', restMs: 60_000 },
    { name: 'uploaded', restMs: 120_000 },
  ])
  expect(await readFound(connection, resting, { which: 'first', limit: 100 })).toHaveLength(100)
  expect(await readFound(connection, resting, { which: { after: '50000' }, limit: 100 })).toHaveLength(100)
  expect(plans).toEqual(Array.from({ length: 4 }, () => ({ scanned: [], indexes: ['records_open_idx'] })))
})

const sweep = 'expire-pastes'
const workerId = '00000000-0000-0000-0000-000000000001'
const nonce = '00000000-0000-0000-0000-00000000000a'

/** Pastes of which many are due and many are claimed, some by a worker and most isolated. */
async function manyPastes(): Promise<TestDatabase> {
  const db = await testDatabase()
  await db.query(`
    create table contents (id int primary key, ref_count int not null);
    insert into contents select i, 100 from generate_series(1, 200000) i;
    create table pastes (short_code text primary key, content_id int not null, status text not null,
      expires_at timestamptz not null, nonce uuid);
    insert into pastes
    select 'p' || i, i % 20000 + 1, case when i <= 1000 then 'GOING' else 'LIVE' end,
      now() + (i - 20000) * interval '1 minute', case when i <= 1000 then '${nonce}'::uuid end
    from generate_series(1, 100000) i;
    create index pastes_due_idx on pastes (expires_at, short_code) where status = 'LIVE';
    create index pastes_going_idx on pastes (short_code) where status = 'GOING';
    insert into sluice.sweep_claim (sweep, key, generation, nonce, worker_id, quarantined_at)
    select '${sweep}', array[case when i <= 1000 then 'p' else 'gone' end || i], gen_random_uuid(), '${nonce}', case when i <= 50 then '${workerId}'::uuid end,
      case when i > 100 then now() - i * interval '1 second' end
    from generate_series(1, 60000) i`)
  for (const table of ['pastes', 'contents', 'sluice.sweep_claim']) await db.query(`vacuum analyze ${table}`)
  return db
}

const names = {
  name: sweep,
  table: 'pastes',
  key: ['short_code'],
  due: sql`expires_at < now()`,
  order: ['expires_at', 'short_code'],
  marks: { status: 'status', nonce: 'nonce', claimedAt: undefined, worker: undefined, from: 'LIVE', to: 'GOING' },
  reference: { table: 'contents', key: 'id', by: 'content_id', count: 'ref_count' },
  sets: [],
}

test('a sweep finds rows and claims by indexes, and reads no large table from end to end', async () => {
  await using db = await manyPastes()
  await using client = await openClient(db.url)
  const swept = (await resolveSweptTable(client, names)) as SweptTable & { marks: Marks }
  const { connection, plans } = explaining(client)
  await client.query('begin')
  const due = await lockDue(connection, swept, { sweep, limit: 20 })
  expect(due).toHaveLength(20)
  expect(plans.at(-1)?.indexes).toContain('pastes_due_idx')
  await countDue(connection, swept, { sweep, most: 1_000 })
  const wanted = due.map(({ key }) => ({ key, nonce }))
  const keys = due.map(({ key }) => key)
  const rows = keys.map((key) => ({ key, generation: nonce, version: null }))
  const owner = { sweep, workerId, nonce }
  expect(await claims.insertClaims(connection, { ...owner, rows })).toHaveLength(20)
  await stamp(connection, swept, wanted, workerId)
  expect(await findClaimed(connection, swept, wanted, 'wait')).toHaveLength(20)
  expect(await claims.holdingClaims(connection, { ...owner, keys })).toHaveLength(20)
  await unstamp(connection, swept, wanted.slice(0, 5))
  expect(await finaliseRows(connection, swept, wanted.slice(5), 'delete')).toHaveLength(15)
  expect(await releaseReferences(connection, swept.reference as never, new Map([['7', 2]]))).toHaveLength(1)
  expect(await lockClaimable(connection, swept, wanted)).toHaveLength(5)
  expect(await forgetUnlessDue(connection, swept, { sweep, wanted: wanted.slice(5, 8) })).toHaveLength(3)
  expect(await claims.forgetClaims(connection, { sweep, rows: wanted })).toHaveLength(17)
  expect(await lockStray(connection, swept, { sweep, limit: 20 })).toEqual([])
  expect(plans.at(-1)?.indexes).toContain('pastes_going_idx')
  await client.query('rollback')
  expect(plans.flatMap(({ scanned }) => scanned)).toEqual([])
})

test('what is claimed, waits or is isolated is found by indexes', async () => {
  await using db = await manyPastes()
  await using client = await openClient(db.url)
  const { connection, plans } = explaining(client)
  await lookAtSweep(connection, { name: sweep, workerId, leaseMs: 30_000 })
  await wantSweep(connection, { name: sweep })
  expect(await claims.offeredClaims(connection, { sweep, leaseMs: 0, limit: 20 })).toHaveLength(40)
  expect(await claims.quarantinedClaims(connection, { sweep, limit: 10 })).toHaveLength(10)
  await offerWaiting(connection, { name: sweep })
  await holdSweep(connection, { name: sweep, reason: 'down', forMs: 1, owner: { workerId, nonce: workerId } })
  expect(await claims.releaseAllClaims(connection, { sweep, workerId })).toHaveLength(50)
  expect(await claims.retryClaims(connection, { sweep, key: ['p200'] })).toHaveLength(1)
  expect(plans.flatMap(({ scanned }) => scanned).filter((table) => table === 'sweep_claim')).toEqual([])
})
