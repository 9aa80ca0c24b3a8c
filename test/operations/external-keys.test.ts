import { expect, test } from 'vitest'
import { defineOperation } from '../../src/index.ts'
import { testDatabase } from '../support/database.ts'
import { working } from '../support/working.ts'

test('no two rows share an idempotency key, whatever is in the parts of their keys', async () => {
  await using db = await testDatabase()
  await db.query('create table parts (a text, b text, primary key (a, b))')
  const rows = [
    ['x:y', 'z'],
    ['x', 'y:z'],
    ['x\\', 'y'],
    ['x', '\\:y'],
    ['x\\:', 'y'],
    ['', ':'],
    [':', ''],
  ]
  for (const row of rows) await db.query('insert into parts values ($1, $2)', row)
  const keys = new Set<string>()
  const external = defineOperation({
    name: 'external',
    table: 'parts',
    effects: 'external',
    perform: async (context) => context.rows.forEach((row) => keys.add(context.keyOf(row))),
  })
  const { sluice, events } = working(db, [external])
  await using _ = sluice
  await sluice.start()
  await sluice.operations.start(external)
  expect(await events.event('operation.finished')).toMatchObject({ rowsSeen: rows.length })
  expect(keys.size).toBe(rows.length)
})
