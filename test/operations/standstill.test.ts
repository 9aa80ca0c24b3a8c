import sql from 'sql-template-tag'
import { expect, test } from 'vitest'
import { defineOperation, expire, Sluice } from '../../src/index.ts'
import { until } from '../support/wait.ts'
import { testProfile } from '../support/worker.ts'
import { counters, patient, working } from '../support/working.ts'

const count = defineOperation({
  name: 'count',
  table: 'counters',
  subBatchSize: 20,
  batchSize: 400,
  perform: ({ batch }) => batch.update(sql`n = n + 1`),
})
const drop = expire({ name: 'drop', table: 'old', olderThan: '1 day', by: 'at', subBatchSize: 20 })

test('no operation works while all are disabled, in whatever process, and each goes on where it stands', async () => {
  await using db = await counters(2_000)
  await db.query(`create table old as select n as id, now() - interval '2 days' as at from generate_series(1, 100) n`)
  await db.query('alter table old add primary key (id)')
  const [one, other] = [working(db, [count, drop]), working(db, [count, drop])]
  await using _one = one.sluice
  await using _other = other.sluice
  await using owner = new Sluice({ ...testProfile, database: db.url, operations: [count, drop] })
  await one.sluice.start()
  await other.sluice.start()
  const { id } = await owner.operations.start(count)
  await until('it has begun', async () => (await owner.operations.get(id)).rowsChanged > 0)
  await owner.operations.disableAll({ reason: 'failover', actor: 'ada' })
  const late = await owner.operations.start(drop)
  await until('every batch was given back', async () => {
    const { batches } = await owner.operations.get(id)
    return batches.every(({ state }) => state === 'ready')
  })
  const before = await owner.operations.get(id)
  expect(before).toMatchObject({ disabled: true, standstill: { reason: 'failover', actor: 'ada' } })
  expect(before.limitedBy).toMatch(/^all operations are disabled by ada for .* now: failover$/)
  // Long enough for several looks for work.
  await new Promise((resolve) => setTimeout(resolve, 500))
  expect(await owner.operations.get(id)).toMatchObject({ rowsChanged: before.rowsChanged })
  expect(await owner.operations.get(late.id)).toMatchObject({ state: 'queued', rowsSeen: 0 })
  expect(await owner.operations.standstill()).toMatchObject({ reason: 'failover', actor: 'ada' })
  expect(await owner.operations.enableAll({ actor: 'bob' })).toBe(true)
  expect(await owner.operations.enableAll()).toBe(false)
  for (const done of [id, late.id]) expect(await owner.operations.wait(done)).toMatchObject({ state: 'finished' })
  expect(await db.value('select count(*)::int from counters where n <> 1')).toBe(0)
  expect(await db.value('select count(*)::int from old')).toBe(0)
})

test('a preset in one statement changes nothing while all are disabled', async () => {
  await using db = await counters(200)
  await db.query(`alter table counters add column at timestamptz not null default now() - interval '2 days'`)
  const all = expire({ name: 'all', table: 'counters', olderThan: '1 day', by: 'at', subBatchSize: 10 })
  const { sluice, events } = working(db, [all], patient)
  await using _ = sluice
  await sluice.start()
  await db.query(`create function stop_all() returns trigger language plpgsql security definer as
    $$ begin insert into sluice.standstill (reason) values ('from within') on conflict do nothing; return old; end $$`)
  await db.query('create trigger stop_all after delete on counters for each row execute function stop_all()')
  await sluice.operations.start(all)
  await events.event('batch.released')
  expect(await db.value('select count(*)::int from counters')).toBe(190)
})

test('a worker can neither say it nor end it, and is told what it lacks', async () => {
  await using db = await counters(10)
  const { sluice } = working(db, [count])
  await using _ = sluice
  await using owner = new Sluice({ ...testProfile, database: db.url, operations: [count] })
  const denied = { code: 'PERMISSION_DENIED', message: expect.stringContaining('on sluice.standstill to') }
  await expect(sluice.operations.disableAll()).rejects.toMatchObject(denied)
  await owner.operations.disableAll()
  await expect(sluice.operations.enableAll()).rejects.toMatchObject(denied)
  expect(await sluice.operations.standstill()).toMatchObject({ reason: null, actor: null })
  // Said again it lasts since it was first said.
  const { since } = (await owner.operations.standstill()) ?? expect.unreachable()
  expect(await owner.operations.disableAll({ reason: 'still' })).toEqual({ reason: 'still', actor: null, since })
})
