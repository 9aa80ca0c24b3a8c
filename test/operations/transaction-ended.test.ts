// Work that ends the transaction of its sub-batch, in which its rows and the checkpoint were to be committed together.
import sql, { raw } from 'sql-template-tag'
import { expect, test } from 'vitest'
import { defineOperation } from '../../src/index.ts'
import { counters, working } from '../support/working.ts'

test.each([
  ['commit', 'commit', 50],
  ['rollback', 'rollback', 0],
  ['a new transaction', 'commit; begin', 50],
])('an operation fails and says why when its work ends the transaction by %s', async (_, statement, changed) => {
  await using db = await counters(100)
  const ends = defineOperation({
    name: 'ends',
    table: 'counters',
    batchSize: 100,
    subBatchSize: 50,
    async perform({ batch }) {
      await batch.update(sql`n = n + 1`)
      await batch.query(sql`${raw(statement)}`)
    },
  })
  const { sluice, events } = working(db, [ends])
  await using _s = sluice
  await sluice.start()
  const { id } = await sluice.operations.start(ends)
  const { error } = await events.event('operation.failed')
  expect(error.message).toContain('"perform" has ended the transaction of its sub-batch')
  expect(await sluice.operations.get(id)).toMatchObject({ state: 'failed', rowsSeen: 0, rowsChanged: 0 })
  // What was committed is there once, and the rest was not touched.
  expect(await db.value('select sum(n)::int from counters')).toBe(changed)
})

test('a procedure that would end the transaction is refused by the server, and the operation fails with its words', async () => {
  await using db = await counters(100)
  await db.query(`create procedure end_it() language plpgsql as 'begin commit; end'`)
  const ends = defineOperation({
    name: 'ends',
    table: 'counters',
    perform: ({ batch }) => batch.query(sql`call end_it()`).then(() => undefined),
  })
  const { sluice, events } = working(db, [ends])
  await using _s = sluice
  await sluice.start()
  await sluice.operations.start(ends)
  expect(await events.event('operation.failed')).toMatchObject({ error: { code: '2D000' } })
})
