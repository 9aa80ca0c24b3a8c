import { expect, test } from 'vitest'
import { keyText, readKey, resolveCursor } from '../../src/targets/postgres/cursor.ts'
import type { Cursor } from '../../src/targets/walk.ts'
import { describeTable } from '../../src/targets/postgres/table.ts'
import { readState } from '../../src/targets/postgres/state.ts'
import { testDatabase, type TestDatabase } from '../support/database.ts'
import { openClient } from '../support/jobs.ts'

const settings = [
  ['UTC', 'ISO, MDY'],
  ['America/St_Johns', 'German, DMY'],
  ['Asia/Kathmandu', 'SQL, DMY'],
  ['Europe/Berlin', 'Postgres, MDY'],
] as const

/** What is asked, in sessions that differ in their zone and in how they write dates. */
async function inEachSession<T>(
  db: TestDatabase,
  ask: (client: Awaited<ReturnType<typeof openClient>>) => Promise<T>,
): Promise<T[]> {
  const answers: T[] = []
  for (const [zone, style] of settings) {
    await using client = await openClient(db.url)
    await client.query(`set timezone = '${zone}'; set datestyle = '${style}'`)
    answers.push(await ask(client))
  }
  return answers
}

const moments = `
  create domain moment as timestamptz;
  create table moments (at timestamptz, clock timestamp, day date, stamp moment, primary key (at, clock, day, stamp));
  insert into moments
  select t, t at time zone 'UTC', (t at time zone 'UTC')::date, t
  from unnest(array['2026-03-29 01:30:00.123456+00', '0044-03-15 12:00:00+00 BC', '12026-01-02 03:04:05+00',
    '1999-12-31 23:59:59.5+00']::timestamptz[]) t
  union all select 'infinity', 'infinity', 'infinity', 'infinity'
  union all select '-infinity', '-infinity', '-infinity', '-infinity'`

const cursorOf = async (client: Parameters<typeof describeTable>[0]): Promise<Cursor> =>
  resolveCursor(await describeTable(client, 'moments'), undefined)

test('the key of a row is the same text in every session, and finds its row in each', async () => {
  await using db = await testDatabase()
  await db.query(moments)
  const [first, ...others] = await inEachSession(db, async (client) => {
    const query = `select ${keyText(await cursorOf(client)).text} as key from moments order by at`
    return (await client.query<{ key: string[] }>(query)).rows.map(({ key }) => key)
  })
  expect(first).toHaveLength(6)
  expect(first?.[3]).toEqual([
    '2026-03-29T01:30:00.123456+00:00',
    '2026-03-29T01:30:00.123456',
    '2026-03-29',
    '2026-03-29T01:30:00.123456+00:00',
  ])
  for (const other of others) expect(other).toEqual(first)

  const found = await inEachSession(db, async (client) => {
    const { rows } = await client.query<{ n: number }>(
      `select count(*)::int as n from moments m, jsonb_array_elements($1::jsonb) k
       where (m.at, m.clock, m.day, m.stamp)
         = ((k ->> 0)::timestamptz, (k ->> 1)::timestamp, (k ->> 2)::date, (k ->> 3)::timestamptz)`,
      [JSON.stringify(first)],
    )
    return rows[0]?.n
  })
  expect(found).toEqual(settings.map(() => 6))
})

test('a key that a person gives is the same in every session', async () => {
  await using db = await testDatabase()
  const cursor = { columns: ['at'], types: ['timestamp with time zone'] }
  const keys = await inEachSession(db, async (client) => readKey(client, cursor, [new Date('2026-01-02T03:04:05Z')]))
  expect(keys).toEqual(settings.map(() => ['2026-01-02T03:04:05+00:00']))
})

test('when a row came into its state is told the same in every session', async () => {
  await using db = await testDatabase()
  await db.query(`create table orders (id int primary key, state text, changed_at timestamptz);
    insert into orders values (1, 'new', '2026-01-02T03:04:05.678901Z')`)
  const place = { table: 'orders', key: 'id', state: 'state', changedAt: 'changed_at' }
  const entered = await inEachSession(db, async (client) => (await readState(client, place, { key: '1' }))?.entered)
  expect(entered).toEqual(settings.map(() => '1767323045.678901'))
})
