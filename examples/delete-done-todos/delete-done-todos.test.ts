import { readFile } from 'node:fs/promises'
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Sluice } from '../../src/index.ts'
import { testDatabase, type TestDatabase } from '../../test/support/database.ts'
import { deleteAllDone } from './delete-all-done.ts'
import config from './sluice.config.ts'

const alice = { userId: 1, organization: 'acme', deleteUntil: new Date('2026-03-01T12:00:00Z') }

let db: TestDatabase
let database: pg.Pool
let sluice: Sluice

beforeAll(async () => {
  db = await testDatabase()
  database = new pg.Pool({ connectionString: db.workerUrl, max: 2 })
  sluice = new Sluice({ ...config, database: db.workerUrl, worker: { poll: '50ms' } })
  await db.query(await readFile(new URL('schema.sql', import.meta.url), 'utf8'))
  // Three users, both states, two thirds of the todos from before the limit; every combination is there.
  await db.query(`
    insert into todos (user_id, state, updated_at)
    select 1 + n % 3, (array['pending', 'done'])[1 + n / 3 % 2],
      timestamptz '2026-03-01 12:00 utc' + interval '1 day' * (n / 6 % 3 - 2)
    from generate_series(0, 9000 - 1) n`)
})

afterAll(async () => {
  await sluice.stop()
  await database.end()
  await db[Symbol.asyncDispose]()
})

const recorded = (): Promise<number> =>
  db.value(`select (select count(*) from deletion_requests)::int + (select count(*) from sluice.operation)::int`)

const doneAndOld = `user_id = 1 and state = 'done' and updated_at < '2026-03-01 12:00 utc'`

test('an action that fails starts nothing', async () => {
  await db.query(`alter table deletion_requests add constraint closed check (user_id <> 1)`)
  await expect(deleteAllDone({ database, sluice }, alice)).rejects.toThrow('closed')
  expect(await recorded()).toBe(0)
  await db.query(`alter table deletion_requests drop constraint closed`)
})

test('an operation that cannot start leaves no request behind', async () => {
  const noMoment = { ...alice, deleteUntil: new Date(Number.NaN) }
  await expect(deleteAllDone({ database, sluice }, noMoment)).rejects.toMatchObject({ code: 'ARGS_INVALID' })
  expect(await recorded()).toBe(0)
})

test('a second click gives the same operation; another user gets another one', async () => {
  const first = await deleteAllDone({ database, sluice }, alice)
  const second = await deleteAllDone({ database, sluice }, alice)
  const other = await deleteAllDone({ database, sluice }, { ...alice, userId: 99 })
  expect(first.duplicate).toBe(false)
  expect(second).toMatchObject({ id: first.id, duplicate: true })
  expect(other).toMatchObject({ duplicate: false })
  expect(other.id).not.toBe(first.id)
})

test('only the done and old todos of that user are deleted', async () => {
  const before = await db.query(`select id from todos where not (${doneAndOld}) order by id`)
  expect(before).toHaveLength(8_000)
  const { id } = await deleteAllDone({ database, sluice }, alice)
  await sluice.start()

  const status = await sluice.operations.wait(id, { everyMs: 20 })

  expect(status).toMatchObject({
    state: 'finished',
    tenant: 'acme',
    actor: 'user 1',
    rowsSeen: 1_500,
    rowsMatched: 1_500,
    rowsChanged: 1_000,
    rowsSkipped: 500,
  })
  expect(await db.query('select id from todos order by id')).toEqual(before)
})

test('what runs for a customer can be listed, with who asked for it', async () => {
  const listed = await sluice.operations.list({ tenant: 'acme' })
  expect(listed.map(({ name, actor }) => ({ name, actor }))).toEqual(
    expect.arrayContaining(['user 1', 'user 99'].map((actor) => ({ name: 'delete-done-todos', actor }))),
  )
  expect(await sluice.operations.list({ tenant: 'another' })).toEqual([])
})

test('once finished, the same request may start anew', async () => {
  const { id, duplicate } = await deleteAllDone({ database, sluice }, alice)
  expect(duplicate).toBe(false)
  expect(await sluice.operations.wait(id, { everyMs: 20 })).toMatchObject({ state: 'finished', rowsChanged: 0 })
})
