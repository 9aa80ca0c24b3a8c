import { expect, test } from 'vitest'
import { defineOperation, sql } from '../../src/index.ts'
import { nextLook } from '../../src/operations/batch-sizes.ts'
import { counters, ended, working } from '../support/working.ts'

test.each([
  ['reaches four times as far', { rows: 2_000, ms: 10 }, 8_000],
  ['is no longer than a second', { rows: 2_000, ms: 500 }, 4_000],
  ['shrinks when it took too long', { rows: 2_000, ms: 8_000 }, 1_000],
  ['is never smaller than a sub-batch', { rows: 1, ms: 60_000 }, 1_000],
])('the next look %s', (_, done, rows) => {
  expect(nextLook({ lookSize: 2_000, wantedSize: 1_000 }, done)).toBe(rows)
})

test('no look reaches further than so many sub-batches, nor than the largest batch', () => {
  expect(nextLook({ lookSize: 60_000, wantedSize: 1_000 }, { rows: 60_000, ms: 1 })).toBe(64_000)
  expect(nextLook({ lookSize: 1_500_000, wantedSize: 100_000 }, { rows: 1_500_000, ms: 100 })).toBe(2_000_000)
})

const shape = { name: 'count', table: 'counters', batchSize: 1_000, subBatchSize: 100 } as const

test('a batch behind an empty stretch begins with a look, and finds what is in scope behind it', async () => {
  await using db = await counters(5_000)
  const operation = defineOperation({
    ...shape,
    scope: () => sql`id <= 1000 or id = 4321`,
    perform: ({ batch }) => batch.update(sql`n = n + 1`),
  })
  const { sluice, events } = working(db, [operation])
  await using _ = sluice
  const third: number[] = []
  sluice.on('sub-batch.committed', ({ batch, walBytes }) => void (batch === 3 && third.push(walBytes)))
  await sluice.start()
  await sluice.operations.start(operation)
  expect(await events.event('operation.finished')).toMatchObject({ rowsSeen: 5_000, rowsChanged: 1_001 })
  expect(await db.value('select count(*)::int from counters where n <> (id <= 1000 or id = 4321)::int')).toBe(0)
  // Looks write nothing; a sub-batch locks its claim.
  expect(third.length).toBeGreaterThan(0)
  expect(third.filter((bytes) => bytes > 0)).toEqual([])
})

test('a scope that fails on some rows has these isolated and no others, though empty stretches are passed over', async () => {
  await using db = await counters(5_000)
  const operation = defineOperation({
    ...shape,
    batchSize: 5_000,
    verify: true,
    // Fails on two rows, and means one.
    scope: () => sql`100 / ((id - 1700) * (id - 3001)) > 1000 or (id = 4321 and not done)`,
    perform: ({ batch }) => batch.update(sql`n = n + 1, done = true`),
  })
  const { sluice } = working(db, [operation])
  await using _ = sluice
  await sluice.start()
  const { id } = await sluice.operations.start(operation)
  expect(await ended(sluice, id)).toMatchObject({
    state: 'finished_with_quarantine',
    rowsSeen: 5_000,
    rowsChanged: 1,
    rowsQuarantined: 2,
  })
  const isolated = await sluice.operations.quarantined(id)
  expect(isolated.map(({ upper_key: key }) => key)).toEqual([['1700'], ['3001']])
})

test('a scope whose cast fails on some rows has these isolated and no others, though empty stretches are passed over', async () => {
  await using db = await counters(5_000)
  await db.query(`alter table counters add column raw text not null default '0'`)
  await db.query(`update counters set raw = case id when 4321 then '7' else 'seven' end where id in (1700, 3001, 4321)`)
  const operation = defineOperation({
    ...shape,
    batchSize: 5_000,
    verify: true,
    scope: () => sql`raw::int > 0 and not done`,
    perform: ({ batch }) => batch.update(sql`n = n + 1, done = true`),
  })
  const { sluice } = working(db, [operation])
  await using _ = sluice
  await sluice.start()
  const { id } = await sluice.operations.start(operation)
  expect(await ended(sluice, id)).toMatchObject({
    state: 'finished_with_quarantine',
    rowsSeen: 5_000,
    rowsChanged: 1,
    rowsQuarantined: 2,
  })
  const isolated = await sluice.operations.quarantined(id)
  expect(isolated.map(({ upper_key: key }) => key)).toEqual([['1700'], ['3001']])
  expect(isolated.map(({ error }) => error.code)).toEqual(['22P02', '22P02'])
})
