// Triggers and rules that leave rows as they are, though the statement that was to change them succeeds.
import sql from 'sql-template-tag'
import { expect, test } from 'vitest'
import { backfill, defineOperation, expire, type Batch, type OperationDefinition } from '../../src/index.ts'
import type { TestDatabase } from '../support/database.ts'
import { counters, ended, working } from '../support/working.ts'
import { findingsOf } from './preflight-place.ts'

const shape = { table: 'counters', batchSize: 200, subBatchSize: 100 } as const
const finish = backfill({ ...shape, name: 'finish', set: { done: sql`true` } })
const remove = expire({ ...shape, name: 'remove', olderThan: '1 day', by: 'at' })
const own = {
  ...shape,
  scope: () => sql`not done`,
  perform: ({ batch }: { batch: Batch }) => batch.update(sql`done = true`),
}
const finishOwn = defineOperation({ ...own, name: 'finish-own' })
const verifyOwn = defineOperation({ ...own, name: 'verify-own', verify: true })

/** Changes rows outside of the transactions of its sub-batches. */
const external = (db: TestDatabase): OperationDefinition<undefined> =>
  defineOperation({
    ...shape,
    name: 'verify-external',
    verify: true,
    effects: 'external',
    scope: () => sql`not done`,
    async perform({ rows }) {
      const ids = rows.map(({ id }) => id)
      await db.query('update counters set done = true where id = any($1::bigint[])', [ids])
    },
  })

/** Rows of which two are kept by a trigger, whatever is done to them. */
async function kept(): Promise<TestDatabase> {
  const db = await counters(400)
  await db.query(`alter table counters add column at timestamptz not null default now() - interval '2 days'`)
  await db.query(`create function keep_some() returns trigger language plpgsql as $$ begin
    if old.id in (77, 301) then return null; end if;
    return coalesce(new, old); end $$`)
  await db.query(
    `create trigger keep_some before update or delete on counters for each row execute function keep_some()`,
  )
  return db
}

async function outcome(db: TestDatabase, definition: OperationDefinition<undefined>): Promise<object> {
  const { sluice } = working(db, [definition])
  await using _ = sluice
  await sluice.start()
  const { id } = await sluice.operations.start(definition)
  const { state, rowsSeen, rowsMatched, rowsChanged, rowsQuarantined } = await ended(sluice, id)
  const keys = (await sluice.operations.quarantined(id)).map(({ upper_key: [key] }) => key)
  return { state, rowsSeen, rowsMatched, rowsChanged, rowsQuarantined, keys }
}

test.each([
  ['updated', finish],
  ['deleted', remove],
])('rows that a trigger keeps from being %s are isolated, and all others are counted', async (_, definition) => {
  await using db = await kept()
  expect(await outcome(db, definition)).toEqual({
    state: 'finished_with_quarantine',
    rowsSeen: 400,
    rowsMatched: 400,
    rowsChanged: 398,
    rowsQuarantined: 2,
    keys: ['77', '301'],
  })
})

test('rows that a trigger keeps are isolated in the first pass where there is no second', async () => {
  await using db = await kept()
  const once = backfill({ ...shape, name: 'finish-once', set: { done: sql`true` }, verify: false })
  expect(await outcome(db, once)).toMatchObject({ state: 'finished_with_quarantine', rowsQuarantined: 2 })
})

test('rows that a trigger keeps from work of your own are counted as skipped', async () => {
  await using db = await kept()
  expect(await outcome(db, finishOwn)).toMatchObject({ state: 'finished', rowsMatched: 400, rowsChanged: 398 })
})

test.each([
  ['a transaction', () => verifyOwn, 398],
  ['no transaction', external, 400],
] as const)(
  'rows that a trigger keeps from work of your own in %s are isolated by the second pass',
  async (_, definition, rowsChanged) => {
    await using db = await kept()
    expect(await outcome(db, definition(db))).toMatchObject({
      state: 'finished_with_quarantine',
      rowsChanged,
      rowsQuarantined: 2,
      keys: ['77', '301'],
    })
    expect(await db.value('select array_agg(id::int order by id) from counters where not done')).toEqual([77, 301])
  },
)

test('a row that is kept again when it is retried is isolated again', async () => {
  await using db = await kept()
  const { sluice } = working(db, [verifyOwn])
  await using _ = sluice
  await sluice.start()
  const { id } = await sluice.operations.start(verifyOwn)
  expect(await ended(sluice, id)).toMatchObject({ state: 'finished_with_quarantine', rowsQuarantined: 2 })
  await sluice.operations.retry(id)
  expect(await ended(sluice, id)).toMatchObject({ state: 'finished_with_quarantine', rowsQuarantined: 2 })
})

test.each([
  ['preset', finish],
  ['work of your own', verifyOwn],
])('an operation whose change a rule replaces stops and says so: %s', async (_, definition) => {
  await using db = await counters(400)
  await db.query('create rule leave_alone as on update to counters do instead nothing')
  const { sluice, events } = working(db, [definition])
  await using __ = sluice
  await sluice.start()
  const { id } = await sluice.operations.start(definition)
  const { reason } = await events.event('operation.paused')
  expect(reason).toContain('a trigger or a rule undoes the change')
  expect(await sluice.operations.get(id)).toMatchObject({ rowsChanged: 0 })
})

test('a value that the column rounds is found by the second pass', async () => {
  await using db = await counters(3)
  await db.query('alter table counters add column price numeric(6, 2)')
  const price = backfill({ ...shape, name: 'price', set: { price: sql`id::numeric / 3` } })
  expect(await outcome(db, price)).toMatchObject({ state: 'finished_with_quarantine', rowsQuarantined: 2 })
})

test('triggers that may cancel a change and rules that replace it are told before the start', async () => {
  await using db = await kept()
  await db.query(`create function touch() returns trigger language plpgsql as 'begin new.n := 1; return new; end'`)
  await db.query('create trigger touch before update on counters for each row execute function touch()')
  await db.query(`create trigger same before update on counters for each row
    execute function suppress_redundant_updates_trigger()`)
  await db.query('create rule leave_alone as on delete to counters do instead nothing')
  const what = async (definition: OperationDefinition<undefined>, check: 'trigger' | 'rule'): Promise<string[]> =>
    (await findingsOf(db, definition, check)).map((finding) => finding.what).filter((text) => text.includes('counters'))
  expect(await what(finish, 'trigger')).toEqual([
    'The trigger keep_some of public.counters may cancel the change of a row',
    'The trigger same of public.counters may cancel the change of a row',
  ])
  expect(await what(finish, 'rule')).toEqual([])
  expect(await what(remove, 'rule')).toEqual([
    'The rule leave_alone of public.counters does something else instead of the change',
  ])
})
