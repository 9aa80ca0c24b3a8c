import sql from 'sql-template-tag'
import { expect, test } from 'vitest'
import { onClient } from '../support/database.ts'
import { backfill, defineOperation } from '../../src/index.ts'
import { runBatch } from '../../src/operations/batch-loop.ts'
import type { Stretch } from '../../src/targets/work.ts'
import { rescue } from '../../src/store/batches.ts'
import { openClient } from '../support/jobs.ts'
import { counters } from '../support/working.ts'
import { claimFirst } from './claimed.ts'

const shape = { name: 'finish', table: 'counters', batchSize: 100, subBatchSize: 100 } as const
const end = ['100']
const next: Stretch = { window: { lower: null, upper: ['100'] }, rows: 100 }
const reached = 'select checkpoint, rows_seen::int, rows_changed::int from sluice.batch'

test('a batch is not rescued while one of its sub-batches is open', async () => {
  await using db = await counters(100)
  await using other = await openClient(db.url)
  let rescued: object[] | undefined
  const slow = defineOperation({
    ...shape,
    async perform({ batch }) {
      const changed = await batch.update(sql`n = n + 1`)
      rescued = await rescue(onClient(other))
      return changed
    },
  })
  await using claimed = await claimFirst(db, slow)
  await db.query(`update sluice.batch set lease_until = now() - interval '1 minute'`)
  await claimed.run.target.commit(claimed.work, { next, end })
  expect(rescued).toEqual([])
  expect(await db.query(reached)).toEqual([{ checkpoint: ['100'], rows_seen: 100, rows_changed: 100 }])
})

test.each([
  ['a claim that is lost while external effects run moves no checkpoint', 'nonce = gen_random_uuid()', 'lost'],
  ['a checkpoint that moves while external effects run is not moved again', `checkpoint = '{7}'`, 'moved'],
])('%s', async (_, change, refusal) => {
  await using db = await counters(100)
  const callOut = defineOperation({
    ...shape,
    effects: 'external',
    perform: async () => void (await db.query(`update sluice.batch set ${change}`)),
  })
  await using claimed = await claimFirst(db, callOut)
  const before = change.startsWith('checkpoint') ? ['7'] : null
  expect(await claimed.run.target.commit(claimed.work, { next, end })).toEqual({ kind: refusal })
  expect(await db.query(reached)).toEqual([{ checkpoint: before, rows_seen: 0, rows_changed: 0 }])
})

const finish = backfill({ ...shape, set: { done: sql`true` }, verify: false })

test.each([
  ['in one statement', true],
  ['in a transaction', false],
])('a stride %s leaves the checkpoint to the last stride, which takes all remaining rows', async (_, inOne) => {
  await using db = await counters(100)
  await using claimed = await claimFirst(db, finish)
  const work = { ...claimed.work, inOne }
  const stride = async (at: number): Promise<void> =>
    void (await claimed.run.target.commit(work, { next: { ...next, stride: { of: 4, at } }, end }))
  await stride(0)
  expect(await db.query(reached)).toEqual([{ checkpoint: null, rows_seen: 0, rows_changed: 25 }])
  await stride(3)
  expect(await db.query(reached)).toEqual([{ checkpoint: ['100'], rows_seen: 100, rows_changed: 100 }])
  expect(await db.value('select count(*)::int from counters where not done')).toBe(0)
})

test('a batch has no strides where a value depends on the one before it', async () => {
  await using db = await counters(100)
  const count = backfill({ ...shape, set: { n: sql`n + 1` }, stride: 4, verify: false })
  await using claimed = await claimFirst(db, count)
  await runBatch(claimed.run)
  expect(await claimed.events.event('batch.finished')).toMatchObject({ rowsSeen: 100, rowsChanged: 100 })
  expect(await db.value('select count(*)::int from counters where n <> 1')).toBe(0)
})
