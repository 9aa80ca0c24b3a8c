// The second pass looks for rows that the first did not meet. Rows in quarantine were met: it leaves them alone.
import sql from 'sql-template-tag'
import { expect, test } from 'vitest'
import { defineOperation, type OperationDefinition, type Sluice } from '../../src/index.ts'
import { testDatabase, type TestDatabase } from '../support/database.ts'
import { counters, ended, working } from '../support/working.ts'

interface Tried {
  /** Bad rows that were tried in the second pass. */
  again: string[]
  /** Called once, while the first pass is at its last row. */
  late: () => Promise<unknown>
}

/** Marks rows as done, and fails on some. What `late` adds before the cursor, the first pass does not meet. */
function marking(
  shape: { name: string; table: string; batchSize: number; subBatchSize: number },
  { bad, last, tried }: { bad: readonly string[]; last: string; tried: Tried },
): OperationDefinition<undefined> {
  let isLate = false
  return defineOperation({
    ...shape,
    verify: true,
    scope: () => sql`not done`,
    async perform({ batch }) {
      const keys = (await batch.rows<{ id: string }>()).map(({ id }) => id)
      if (isLate) tried.again.push(...keys.filter((key) => bad.includes(key)))
      if (keys.some((key) => bad.includes(key))) throw new RangeError('a bad row')
      if (keys.includes(last) && !isLate) {
        isLate = true
        await tried.late()
      }
      return batch.update(sql`n = n + 1, done = true`)
    },
  })
}

const figures = async (sluice: Sluice, id: string): Promise<object> => {
  const { state, rowsSeen, rowsChanged, rowsQuarantined } = await ended(sluice, id)
  return { state, rowsSeen, rowsChanged, rowsQuarantined }
}
const left = (db: TestDatabase, table: string): Promise<string[]> =>
  db.value(`select array_agg(id::text order by id) from ${table} where n <> 1 or not done`)

test('rows in quarantine are not tried again and do not trip the breaker', async () => {
  const bad = ['1', '60', '100', '101', '140', '180', '220', '260']
  await using db = await counters(300)
  await db.query('delete from counters where id in (59, 150)')
  const late = (): Promise<unknown> => db.query('insert into counters (id) values (-5), (59), (150), (299000)')
  const tried: Tried = { again: [], late }
  const shape = { name: 'mark', table: 'counters', batchSize: 70, subBatchSize: 40 }
  const mark = marking(shape, { bad, last: '300', tried })
  const { sluice, events } = working(db, [mark])
  await using _ = sluice
  await sluice.start()
  const { id } = await sluice.operations.start(mark)
  expect(await figures(sluice, id)).toEqual({
    state: 'finished_with_quarantine',
    rowsSeen: 301,
    rowsChanged: 293,
    rowsQuarantined: 8,
  })
  expect(events.count('operation.verifying')).toBe(1)
  expect(tried.again).toEqual([])
  expect(await left(db, 'counters')).toEqual([...bad, '299000'])
  expect(await sluice.operations.quarantined(id)).toHaveLength(8)
})

test('keys in quarantine are compared as their column does, not as the database would', async () => {
  await using db = await testDatabase()
  await db.query(`create table words (id text collate "en-x-icu" primary key, n int not null default 0,
    done boolean not null default false)`)
  // In the database's own order the upper-case letters come before all others.
  await db.query(`insert into words (id) select l || d from unnest('{a,b,C,d,e}'::text[]) l, generate_series(1, 9) d`)
  const tried: Tried = { again: [], late: () => db.query(`insert into words (id) values ('b4x'), ('d5x')`) }
  const shape = { name: 'words', table: 'words', batchSize: 9, subBatchSize: 9 }
  const mark = marking(shape, { bad: ['b5', 'C2'], last: 'e9', tried })
  const { sluice } = working(db, [mark])
  await using _ = sluice
  await sluice.start()
  const { id } = await sluice.operations.start(mark)
  expect(await figures(sluice, id)).toEqual({
    state: 'finished_with_quarantine',
    rowsSeen: 47,
    rowsChanged: 45,
    rowsQuarantined: 2,
  })
  expect(tried.again).toEqual([])
  expect(await left(db, 'words')).toEqual(['b5', 'C2'])
})
