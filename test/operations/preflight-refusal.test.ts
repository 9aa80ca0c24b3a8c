import pg from 'pg'
import { expect, test } from 'vitest'
import { defineOperation, sql } from '../../src/index.ts'
import { testDatabase, type TestDatabase } from '../support/database.ts'
import { counters, working } from '../support/working.ts'
import { planOf } from './preflight-place.ts'

const recorded = (db: TestDatabase): Promise<number> => db.value('select count(*)::int from sluice.operation')

/** A table whose only index on its key has another order than the key: no window can be found by it. */
async function misordered(): Promise<TestDatabase> {
  const db = await testDatabase()
  await db.query('create table codes (code text not null, n int not null default 0)')
  await db.query('create unique index codes_code on codes (code text_pattern_ops)')
  await db.query(`insert into codes select 'code ' || i from generate_series(1, 300) i`)
  await db.query('analyze codes')
  return db
}

const countCodes = defineOperation({
  name: 'count-codes',
  table: 'codes',
  cursor: ['code'],
  subBatchSize: 50,
  perform: ({ batch }) => batch.update(sql`n = n + 1`),
})

test('a walk that no index serves is refused before anything is written, however small the table is', async () => {
  await using db = await misordered()
  await using sluice = working(db, [countCodes]).sluice
  await expect(sluice.operations.start(countCodes)).rejects.toMatchObject({
    code: 'PLAN_SCANS',
    message: expect.stringContaining('create index concurrently on public.codes ("code");') as string,
  })
  expect(await recorded(db)).toBe(0)
  const plan = await planOf(db, countCodes)
  expect(plan.refused).toBe(true)
  expect(plan.findings[0]).toMatchObject({ check: 'scan', severity: 'refuse', code: 'PLAN_SCANS' })
  expect(plan.statements[0]).toMatchObject({ statement: 'carve', found: 'reads all of codes', indexes: [] })
})

test('with force it starts, and its history says so', async () => {
  await using db = await misordered()
  const { sluice, events } = working(db, [countCodes])
  await using _ = sluice
  const { id, findings } = await sluice.operations.start(countCodes, undefined, { force: true, actor: 'ana' })
  expect(findings).toMatchObject([{ check: 'scan', severity: 'refuse' }])
  const reason = 'started by force, although No index of public.codes serves the cursor (code)'
  expect(await events.event('operation.started')).toMatchObject({ forced: reason })
  const transitions = await db.query('select to_status, reason, actor from sluice.transition where operation_id = $1', [
    id,
  ])
  expect(transitions).toEqual([{ to_status: 'queued', reason, actor: 'ana' }])
  expect(await sluice.operations.get(id)).toMatchObject({ reason })
  // It is not held for what was known before.
  await sluice.start()
  await events.event('operation.finished')
  expect(events.count('operation.held')).toBe(0)
  expect(await db.value('select count(*)::int from codes where n <> 1')).toBe(0)
})

test('a start that needs no force leaves no word of it', async () => {
  await using db = await counters(100)
  const count = defineOperation({ name: 'count', table: 'counters', perform: async () => 0 })
  const { sluice, events } = working(db, [count])
  await using _ = sluice
  await sluice.operations.start(count, undefined, { force: true })
  expect(await events.event('operation.started')).toMatchObject({ forced: null })
  expect(await db.value('select reason from sluice.transition')).toBeNull()
})

test('a cursor without an index can be forced, one that is not unique cannot', async () => {
  await using db = await testDatabase()
  await db.query('create table pairs (a int not null, b int not null, unique (b, a))')
  await db.query('insert into pairs select i, i from generate_series(1, 10) i')
  const byPair = defineOperation({ name: 'pair', table: 'pairs', cursor: ['a', 'b'], perform: async () => 0 })
  const byOne = defineOperation({ name: 'one', table: 'pairs', cursor: ['a'], perform: async () => 0 })
  const { sluice } = working(db, [byPair, byOne])
  await using _ = sluice
  await expect(sluice.operations.start(byPair)).rejects.toMatchObject({ code: 'CURSOR_NOT_INDEXED' })
  await expect(sluice.operations.start(byPair, undefined, { force: true })).resolves.toMatchObject({ duplicate: false })
  await expect(sluice.operations.start(byOne, undefined, { force: true })).rejects.toMatchObject({
    code: 'CURSOR_NOT_UNIQUE',
  })
})

test('a planner that is misled by old statistics is refused, until it has new ones', async () => {
  await using db = await testDatabase()
  await db.query('create table stale (id int primary key, filler text) with (autovacuum_enabled = off)')
  const insert = `insert into stale select i, repeat('x', 100) from generate_series(1, 40000) i`
  await db.query(`${insert} where i between 51 and 100 order by md5(i::text)`)
  // From now on all rows are thought to be in the second window.
  await db.query('analyze stale')
  await db.query(`${insert} where i not between 51 and 100 order by md5(i::text)`)
  const walk = defineOperation({
    name: 'walk',
    table: 'stale',
    subBatchSize: 50,
    perform: ({ batch }) => batch.delete(),
  })
  const { sluice } = working(db, [walk])
  await using _ = sluice
  await expect(sluice.operations.start(walk)).rejects.toMatchObject({
    code: 'PLAN_SCANS',
    message: expect.stringMatching(
      /would read about \d\d,\d{3} rows of public\.stale for 50\. .* analyze public\.stale;/,
    ) as string,
  })
  await db.query('analyze stale')
  await expect(sluice.operations.start(walk)).resolves.toMatchObject({ findings: [] })
  const { statements } = await planOf(db, walk, { dryRun: false })
  expect(statements).toMatchObject([
    { statement: 'carve', indexes: ['stale_pkey'] },
    { statement: 'work', indexes: ['stale_pkey'] },
  ])
})

test('a start in a transaction that has the table locked neither waits for it nor fails', async () => {
  await using db = await counters(3_000)
  const count = defineOperation({ name: 'count', table: 'counters', perform: async () => 0 })
  const { sluice } = working(db, [count])
  await using _ = sluice
  const tx = new pg.Client({ connectionString: db.url })
  await tx.connect()
  try {
    await tx.query('begin')
    await tx.query('alter table counters add later int')
    const { findings } = await sluice.operations.start(count, undefined, { tx })
    expect(findings[0]).toMatchObject({ check: 'unchecked', severity: 'note' })
    await tx.query('commit')
  } finally {
    await tx.end()
  }
  expect(await recorded(db)).toBe(1)
})

test.each(['time', 'user', 'order', 'a$b', 'Mixed "case"'])(
  'a walk along a leading column named %s starts without force',
  async (name) => {
    await using db = await testDatabase()
    const column = pg.escapeIdentifier(name)
    await db.query(`create table named (${column} int, id int, n int not null default 0, primary key (${column}, id))`)
    await db.query('insert into named select i % 50, i from generate_series(1, 20000) i')
    await db.query('analyze named')
    const count = defineOperation({
      name: 'count-named',
      table: 'named',
      cursor: [name, 'id'],
      perform: ({ batch }) => batch.update(sql`n = n + 1`),
    })
    const { sluice, events } = working(db, [count])
    await using _ = sluice
    await sluice.start()
    expect((await sluice.operations.start(count)).findings).toEqual([])
    expect(await events.event('operation.finished')).toMatchObject({ rowsChanged: 20_000 })
    expect(await db.value('select count(*)::int from named where n <> 1')).toBe(0)
  },
)
