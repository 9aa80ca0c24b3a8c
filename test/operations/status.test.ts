import sql from 'sql-template-tag'
import { expect, test } from 'vitest'
import { backfill } from '../../src/index.ts'
import { counters, working } from '../support/working.ts'
import { claimFirst } from './claimed.ts'

test('an operation never shows more rows in scope than it has seen', async () => {
  await using db = await counters(100)
  const finish = backfill({ name: 'finish', table: 'counters', set: { done: sql`true` } })
  await using claimed = await claimFirst(db, finish)
  // As after the first strides of a window, which is passed with the last one.
  await db.query('update sluice.batch set rows_matched = 30, rows_changed = 30')
  const { sluice } = working(db, [finish])
  await using _ = sluice
  const shown = await sluice.operations.get(claimed.run.operation.id)
  expect(shown).toMatchObject({ rowsSeen: 30, rowsMatched: 30, rowsChanged: 30 })
})
