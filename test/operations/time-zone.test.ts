// Ages by columns that do not tell in which time zone their values are.
import { expect, test } from 'vitest'
import { anonymise, expire, type OperationDefinition } from '../../src/index.ts'
import { testDatabase, type TestDatabase } from '../support/database.ts'
import { working } from '../support/working.ts'
import { findingsOf } from './preflight-place.ts'

/** Sessions of the last two days, one an hour, written in UTC into a database whose zone is that of Tokyo. */
async function sessions(): Promise<TestDatabase> {
  const db = await testDatabase()
  await db.query(
    `do $$ begin execute format('alter database %I set timezone = %L', current_database(), 'Asia/Tokyo'); end $$`,
  )
  await db.query(`create table sessions (id bigint primary key, created_at timestamp not null, seen timestamptz not null,
    name text)`)
  await db.query(`insert into sessions select i, (now() at time zone 'UTC') - i * interval '1 hour' - interval '1 minute',
      now() - i * interval '1 hour' - interval '1 minute', 'x' from generate_series(0, 47) i`)
  return db
}

const shape = { table: 'sessions', olderThan: '24 hours', by: 'created_at' } as const
const old = expire({ ...shape, name: 'old', zone: 'UTC' })
const nameless = anonymise({ ...shape, name: 'nameless', columns: { name: null }, zone: 'UTC' })

test.each([
  ['deleted', old],
  ['made anonymous', nameless],
])('rows are %s by their age in the zone in which the column was written', async (_, definition) => {
  await using db = await sessions()
  const { sluice, events } = working(db, [definition])
  await using _s = sluice
  await sluice.start()
  await sluice.operations.start(definition)
  expect(await events.event('operation.finished')).toMatchObject({ rowsChanged: 24 })
  expect(await db.value(`select count(*)::int from sessions where name = 'x' and id < 24`)).toBe(24)
})

test('an age by a column without a zone is told before the start, with the zone that is taken', async () => {
  await using db = await sessions()
  const findings = (definition: OperationDefinition<undefined>): ReturnType<typeof findingsOf> =>
    findingsOf(db, definition, 'time zone')
  for (const definition of [
    expire({ ...shape, name: 'unsaid' }),
    anonymise({ ...shape, name: 'unsaid', columns: { name: null } }),
  ]) {
    const [finding] = await findings(definition)
    expect(finding).toMatchObject({
      severity: 'warn',
      what: expect.stringMatching(/^The column created_at of public.sessions has no time zone, .* times in \S+$/),
      remedy: expect.stringContaining(`zone: 'UTC'`),
    })
  }
  expect(await findings(old)).toEqual([])
  expect(await findings(expire({ ...shape, name: 'moments', by: 'seen' }))).toEqual([])
})

test('a zone that is none, and one for a column that has its own, are refused', async () => {
  expect(() => expire({ ...shape, name: 'x', zone: 'Middle-earth' })).toThrow('"zone" must be a time zone')
  await using db = await sessions()
  const moments = expire({ ...shape, name: 'moments', by: 'seen', zone: 'UTC' })
  const { sluice } = working(db, [moments])
  await using _ = sluice
  await expect(sluice.operations.start(moments)).rejects.toMatchObject({
    code: 'TABLE_INVALID',
    message: expect.stringContaining('has a time zone of its own'),
  })
})
