// Triggers and rules that leave rows as they are, though the statement that was to change them succeeds.
import sql from 'sql-template-tag'
import { expect, test } from 'vitest'
import { backfill, defineOperation, expire, type OperationDefinition } from '../../src/index.ts'
import type { TestDatabase } from '../support/database.ts'
import { counters, ended, working } from '../support/working.ts'
import { findingsOf } from './preflight-place.ts'

const shape = { table: 'counters', batchSize: 200, subBatchSize: 100 } as const
const finish = backfill({ ...shape, name: 'finish', set: { done: sql`true` } })
const remove = expire({ ...shape, name: 'remove', olderThan: '1 day', by: 'at' })
const finishOwn = defineOperation({
  ...shape,
  name: 'finish-own',
  scope: () => sql`not done`,
  perform: ({ batch }) => batch.update(sql`done = true`),
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

test('an operation whose change a rule replaces stops and says so', async () => {
  await using db = await counters(400)
  await db.query('create rule leave_alone as on update to counters do instead nothing')
  const { sluice, events } = working(db, [finish])
  await using _ = sluice
  await sluice.start()
  const { id } = await sluice.operations.start(finish)
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
