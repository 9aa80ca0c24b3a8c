import { expect, test } from 'vitest'
import { readBounds } from '../../src/targets/postgres/bounds.ts'
import { keyAfter } from '../../src/targets/bounds.ts'
import { asConnection, testDatabase } from '../support/database.ts'

/** 400 rows: 100 up to key 10, then 100 in each of three much wider stretches. */
const uneven = { rows: 400, bounds: [0n, 10n, 1_000n, 5_000n, 9_000n] }

test.each([
  ['from the first row', null, 50, 5n],
  ['before all bounds', '-7', 100, 10n],
  ['in a stretch', '0', 20, 2n],
  ['at its end', '5', 50, 10n],
  ['over several', '5', 250, 5_000n],
  ['from the middle of one into the next', '505', 150, 5_000n],
  ['no further than the last bound', '3000', 10_000, 9_000n],
  ['always further than where it begins', '1', 0.001, 2n],
  ['not beyond the last bound', '9000', 10, undefined],
  ['not behind it', '9001', 10, undefined],
])('the key after some rows: %s', (_, lower, count, key) => {
  expect(keyAfter(uneven, lower === null ? null : [lower], count)).toBe(key)
})

test('keys too large for a double stay whole', () => {
  const far = 2n ** 62n
  const key = keyAfter({ rows: 1_000, bounds: [far, far + 1_000n] }, [String(far)], 10)
  expect(key).toBe(far + 10n)
})

test('bounds are read for whole numbers with statistics, and for nothing else', async () => {
  await using db = await testDatabase()
  await db.query('create table numbered (id bigint primary key, code text not null unique)')
  const walk = { table: 'public.numbered', cursor: { columns: ['id'], types: ['bigint'] } }
  const text = { table: 'public.numbered', cursor: { columns: ['code'], types: ['text'] } }
  const pair = { table: 'public.numbered', cursor: { columns: ['id', 'code'], types: ['bigint', 'text'] } }
  const connection = asConnection(db)
  expect(await readBounds(connection, walk)).toBeUndefined()
  await db.query(`insert into numbered select i * 10, i from generate_series(1, 5000) i`)
  await db.query('analyze numbered')
  const found = await readBounds(connection, walk)
  expect(found?.rows).toBe(5_000)
  expect([found?.bounds[0], found?.bounds.at(-1)]).toEqual([10n, 50_000n])
  expect(Number(found && keyAfter(found, ['10'], 1_000))).toBeCloseTo(10_010, -3)
  expect(await readBounds(connection, text)).toBeUndefined()
  expect(await readBounds(connection, pair)).toBeUndefined()
})
