import { expect, test } from 'vitest'
import { defineOperation, sql } from '../../src/index.ts'
import { until } from '../support/wait.ts'
import { counters, working } from '../support/working.ts'

const count = defineOperation({
  name: 'count',
  table: 'counters',
  batchSize: 500,
  subBatchSize: 50,
  perform: ({ batch }) => batch.update(sql`n = n + 1`),
})

test('an index that is dropped in mid-run leads to a hold that says so, and the run goes on when it is back', async () => {
  await using db = await counters(5_000)
  const { sluice, events } = working(db, [count])
  await using _ = sluice
  const { id } = await sluice.operations.start(count)
  // So slow that it cannot be over before the index is gone.
  await sluice.operations.set(id, { pace: 0.01 })
  await sluice.start()
  await events.event('sub-batch.committed')
  await db.query('alter table counters drop constraint counters_pkey')
  const { reason } = await events.event('operation.held')
  expect(reason).toContain('the plan has changed: No index of public.counters serves the cursor (id)')
  expect(reason).toContain('create index concurrently on public.counters ("id");')
  expect(await sluice.operations.get(id)).toMatchObject({ state: 'held', reason })

  await db.query('create unique index counters_again on counters (id)')
  await sluice.operations.set(id, { pace: 1 })
  await sluice.operations.resume(id)
  await events.event('operation.finished')
  expect(await db.value('select count(*)::int from counters where n <> 1')).toBe(0)
})

test('without the index it is held again as soon as it is resumed', async () => {
  await using db = await counters(5_000)
  const { sluice, events } = working(db, [count])
  await using _ = sluice
  const { id } = await sluice.operations.start(count)
  await db.query('alter table counters drop constraint counters_pkey')
  await sluice.start()
  await events.event('operation.held')
  await until('the batch is given back', async () =>
    db.value<boolean>(`select not exists (select from sluice.batch where state = 'running')`),
  )
  await sluice.operations.resume(id)
  await events.event('operation.held', { nth: 2 })
  expect(await db.value('select count(*)::int from counters where n <> 0')).toBe(0)
})
