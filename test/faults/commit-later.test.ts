import { expect, test } from 'vitest'
import { backfill, defineOperation, sql, type OperationDefinition } from '../../src/index.ts'
import { testDatabase, type TestDatabase } from '../support/database.ts'
import { ownServer } from '../support/own-server.ts'
import { addRows, counters, working } from '../support/working.ts'

const table = { table: 'counters', commit: 'later' } as const
const set = sql`n = n + 1`
const inTransaction = defineOperation({ ...table, name: 'count', perform: ({ batch }) => batch.update(set) })
const inOne = backfill({ ...table, name: 'finish', set: { done: sql`true` }, subBatchSize: 100, verify: false })
const waited = backfill({ ...table, name: 'wait', set: { done: sql`true` }, commit: 'wait', verify: false })

/** Has each transaction that changes rows say, at its very end, whether its commit waits. */
async function tellCommits(db: TestDatabase): Promise<void> {
  const name = await db.value<string>('select current_database()')
  await db.query(`alter database ${name} set synchronous_commit = on`)
  await db.query('create table commits (mode text); grant insert on commits to public')
  await db.query(`create function tell() returns trigger language plpgsql as
    $$ begin insert into commits values (current_setting('synchronous_commit')); return null; end $$`)
  await db.query(`create constraint trigger tell after update on counters deferrable initially deferred
    for each row execute function tell()`)
}

test.each([
  ['with a transaction for each sub-batch', inTransaction, ['off']],
  ['with one statement for each', inOne, ['off']],
  ['and is waited for by default', waited, ['on']],
])('a commit is put off where that was asked for, %s', async (_, operation, modes) => {
  await using db = await counters(300)
  await tellCommits(db)
  const { sluice, events } = working(db, [operation])
  await using _sluice = sluice
  await sluice.start()
  await sluice.operations.start(operation)
  expect(await events.event('operation.finished')).toMatchObject({ rowsChanged: 300 })
  const seen = await db.query<{ mode: string }>('select distinct mode from commits order by mode')
  expect(seen.map(({ mode }) => mode)).toEqual(modes)
})

test('a server that is killed takes rows and checkpoints back together', async () => {
  await using server = await ownServer({ wal_writer_delay: '10s' })
  await using db = await testDatabase(server.url)
  await db.query('create table counters (id bigint primary key, n int not null default 0)')
  await addRows(db, 1, 2_400)
  const slowly = defineOperation({
    ...table,
    name: 'slowly',
    subBatchSize: 20,
    batchSize: 2_400,
    perform: async ({ batch }) => {
      await new Promise((resolve) => setTimeout(resolve, 5))
      return batch.update(set)
    },
  })
  const { sluice, events } = working(db, [slowly])
  await using _ = sluice
  await sluice.start()
  await sluice.operations.start(slowly)
  await events.event('sub-batch.committed', { nth: 50 })
  await server.crash()
  expect(await events.event('operation.finished', { limitMs: 90_000 })).toMatchObject({ rowsChanged: 2_400 })
  expect(await db.value('select count(*)::int from counters where n <> 1')).toBe(0)
})

test('effects outside of the database wait for their commit', () => {
  const external = (): OperationDefinition<undefined> =>
    defineOperation({ ...table, name: 'send', effects: 'external', perform: async () => undefined })
  expect(external).toThrow('"commit" cannot be later with external effects')
  const odd = { ...table, name: 'odd', commit: 'never' as 'later', perform: async () => undefined }
  expect(() => defineOperation(odd)).toThrow('"commit" must be wait or later')
})
