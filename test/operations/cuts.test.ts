import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { defineOperation, sql } from '../../src/index.ts'
import { takeFirst } from '../support/taking.ts'
import { testProfile } from '../support/worker.ts'
import { counters, working } from '../support/working.ts'

const shape = { name: 'count', table: 'counters', batchSize: 100, subBatchSize: 20 } as const
const count = defineOperation({ ...shape, perform: ({ batch }) => batch.update(sql`n = n + 1`) })

const untilEmpty = defineOperation({
  ...shape,
  until: 'empty',
  scope: () => sql`n < 5`,
  perform: ({ batch }) => batch.update(sql`n = n + 1`),
})

test('the end of the next batch is looked for while the one before it runs, and fits no other', async () => {
  await using db = await counters(1_000)
  await using stage = await takeFirst(db, count)
  const { cuts, taken } = stage
  const next = { ...taken.operation, carved_to: taken.batch.upper_key }
  expect(await cuts.take(next, 100)).toBeUndefined()
  cuts.prepare(taken.operation, 100)
  expect(await cuts.take(next, 100)).toEqual({ upper: ['200'], size: 100 })
  expect(await cuts.take(next, 60)).toEqual({ upper: ['200'], size: 100 })
  // One that is too small by less costs less than to look again.
  expect(await cuts.take(next, 300)).toEqual({ upper: ['200'], size: 100 })
  // Another size, another beginning, another end.
  expect(await cuts.take(next, 40)).toBeUndefined()
  expect(await cuts.take(next, 500)).toBeUndefined()
  expect(await cuts.take({ ...next, carved_to: ['300'] }, 100)).toBeUndefined()
  expect(await cuts.take({ ...next, carve_end: ['150'] }, 100)).toBeUndefined()
})

test('where fewer rows are left than a batch has, they are the last one, unless the end moves', async () => {
  await using db = await counters(150)
  await using stage = await takeFirst(db, count)
  stage.cuts.prepare(stage.taken.operation, 100)
  const next = { ...stage.taken.operation, carved_to: stage.taken.batch.upper_key }
  expect(await stage.cuts.take(next, 100)).toEqual({ upper: ['150'], size: 100 })
  await using more = await counters(1_000)
  await using moving = await takeFirst(more, untilEmpty)
  moving.cuts.prepare(moving.taken.operation, 100)
  const after = { ...moving.taken.operation, carved_to: moving.taken.batch.upper_key }
  expect(await moving.cuts.take(after, 100)).toBeUndefined()
})

test('batches that were cut ahead cover every row once', async () => {
  await using db = await counters(5_000)
  const lanes = defineOperation({ ...shape, lanes: 3, perform: ({ batch }) => batch.update(sql`n = n + 1`) })
  const { sluice, events } = working(db, [lanes])
  await using _ = sluice
  await sluice.start()
  await sluice.operations.start(lanes)
  expect(await events.event('operation.finished')).toMatchObject({ rowsSeen: 5_000, rowsChanged: 5_000, batches: 50 })
  expect(await db.value('select count(*)::int from counters where n <> 1')).toBe(0)
})

const left = defineOperation({ name: 'count', table: 'counters', perform: ({ batch }) => batch.update(sql`n = n + 1`) })

test('where sizes are left to us, batches are cut by statistics, until those are found to be wrong', async () => {
  await using db = await counters(1_000)
  await db.query('analyze counters')
  await using stage = await takeFirst(db, left)
  const { cuts, taken } = stage
  const next = { ...taken.operation, carved_to: ['400'] }
  expect(await cuts.estimate(next, 100)).toEqual({ upper: ['500'], size: 100 })
  expect(await cuts.estimate(next, 10_000)).toEqual({ upper: ['1000'], size: 10_000 })
  // Whoever names a size gets batches of that size, and an end that moves has to be looked for.
  expect(await cuts.estimate({ ...next, tunes_batches: false }, 100)).toBeUndefined()
  expect(await cuts.estimate({ ...next, until: 'empty' }, 100)).toBeUndefined()
  cuts.distrust(next)
  expect(await cuts.estimate(next, 100)).toBeUndefined()
})

test('rows that came after the statistics are in exactly one batch, too', async () => {
  await using db = await counters(1_000)
  await db.query('analyze counters')
  await db.query('insert into counters (id) select generate_series(1001, 120000)')
  const both = { name: 'count', table: 'counters', lanes: 2 } as const
  const lanes = defineOperation({ ...both, perform: ({ batch }) => batch.update(sql`n = n + 1`) })
  const { sluice, events } = working(db, [lanes])
  await using _ = sluice
  await sluice.start()
  await sluice.operations.start(lanes)
  // Nothing is known of what lies behind the statistics: the batch that is cut by them ends with them.
  expect(await events.event('batch.finished')).toMatchObject({ batch: 1, rowsSeen: 1_000 })
  expect(await events.event('operation.finished')).toMatchObject({ rowsSeen: 120_000, rowsChanged: 120_000 })
  expect(await db.value('select count(*)::int from counters where n <> 1')).toBe(0)
})

test('what is started in the process of a worker is not looked for', async () => {
  await using db = await counters(100)
  const { sluice, events } = working(db, [count], { worker: { ...testProfile.worker, poll: '1h' } })
  await using _ = sluice
  await sluice.start()
  await events.event('worker.started')
  await sleep(300)
  await sluice.operations.start(count)
  expect(await events.event('operation.finished')).toMatchObject({ rowsChanged: 100 })
})
