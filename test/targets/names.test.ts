// Columns of users may have any name, also one that our statements use.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { backfill, sql } from '../../src/index.ts'
import { keyBeforeEnd, keysAlong } from '../../src/targets/postgres/sample.ts'
import { readShown } from '../../src/targets/postgres/rehearsal.ts'
import { keyAt, lastKey } from '../../src/targets/postgres/window.ts'
import type { Walk } from '../../src/targets/walk.ts'
import { asConnection, testDatabase, type TestDatabase } from '../support/database.ts'
import { working } from '../support/working.ts'

/** Names of our outputs and subqueries, keywords, functions, and what has to be quoted. */
const names = [
  'key',
  'values',
  'value',
  'rows',
  'row',
  'last',
  'found',
  'part',
  'step',
  'start',
  'known',
  'at',
  'n',
  'b',
  'o',
  'id',
  'ahead',
  'moved',
  'here',
  'count',
  'max',
  'now',
  'array',
  'order',
  'user',
  'select',
  'from',
  'limit',
  'table',
  'time',
  'Key',
  'two words',
  'a"b',
  'a$b',
  'ключ',
] as const

const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`

/** Rows whose keys are in another order as texts: 1 to 1,200. */
async function tableWith(db: TestDatabase, columns: readonly string[]): Promise<Walk> {
  const list = columns.map(quoted)
  await db.query('drop table if exists walked')
  await db.query(`create table walked (${list.map((name) => `${name} int not null`).join(', ')}, sluice_done boolean,
    primary key (${list.join(', ')}))`)
  const keys = list.map((_, i) => (i === 0 ? 'n' : `n % ${i + 6}`)).join(', ')
  await db.query(`insert into walked select ${keys} from generate_series(1, 1200) n`)
  await db.query('analyze walked')
  return { table: 'public.walked', cursor: { columns: [...columns], types: columns.map(() => 'integer') } }
}

const some = fc.uniqueArray(fc.constantFrom(...names), { minLength: 1, maxLength: 3 })

test('keys are found in the order of their columns, whatever those are called', async () => {
  await using db = await testDatabase()
  const connection = asConnection(db)
  const check = async (columns: readonly string[]): Promise<void> => {
    const walk = await tableWith(db, columns)
    const end = (await lastKey(connection, walk)) ?? []
    expect(end[0]).toBe('1200')
    const range = { lower: null, upper: end }
    expect((await keyAt(connection, { walk, window: range, count: 500 }))?.[0]).toBe('500')
    expect((await keyBeforeEnd(connection, { walk, range, count: 100 }))?.[0]).toBe('1100')
    const along = (await keysAlong(connection, { walk, range, count: 8 })).map(([first]) => Number(first))
    expect(along.length).toBeGreaterThan(4)
    expect(along).toEqual(along.toSorted((a, b) => a - b))
    const shown = await readShown(connection, { walk, window: range, scope: undefined }, 12)
    expect(shown.map(({ key }) => Number(key[0]))).toEqual(Array.from({ length: 12 }, (_, i) => i + 1))
    expect(shown[11]?.values[columns[0] ?? '']).toBe('12')
  }
  for (const name of names) await check([name])
  await fc.assert(fc.asyncProperty(some, check), { numRuns: 15 })
})

test.each<[readonly [string, ...string[]]]>([[['key']], [['values', 'key']], [['order', 'a$b', 'at']]])(
  'an operation along %j reaches every row',
  async (columns) => {
    await using db = await testDatabase()
    await tableWith(db, columns)
    const finish = backfill({ name: 'finish', table: 'walked', cursor: columns, set: { sluice_done: sql`true` } })
    const { sluice } = working(db, [finish])
    await using _ = sluice
    await sluice.start()
    const { id } = await sluice.operations.start(finish)
    expect(await sluice.operations.wait(id, { everyMs: 20 })).toMatchObject({ state: 'finished', rowsChanged: 1_200 })
    expect(await db.value('select count(*)::int from walked where sluice_done is not true')).toBe(0)
  },
)
