// Lost answers: whether the statement took effect is read from the claim row or from history, never guessed.
import sql from 'sql-template-tag'
import { expect, test } from 'vitest'
import { backfill, defineOperation } from '../../src/index.ts'
import { findCheckpoint } from '../../src/operations/doubt.ts'
import { runBatch } from '../../src/operations/batch-loop.ts'
import type { TestDatabase } from '../support/database.ts'
import { startFaultProxy, type FaultProxy, type LinkInfo } from '../support/fault-proxy/index.ts'
import { openClient } from '../support/jobs.ts'
import { counters } from '../support/working.ts'
import { claimFirst } from './claimed.ts'
import { overOrWaiting } from '../support/locks.ts'

const shape = { name: 'count', table: 'counters', batchSize: 100, subBatchSize: 50 } as const
const addOne = defineOperation({ ...shape, perform: ({ batch }) => batch.update(sql`n = n + 1`) })
const addByPreset = backfill({ ...shape, set: { n: sql`n + 1` }, verify: false })
/** Connections on which nothing but sub-batches run. */
const forWork = ({ applicationName }: LinkInfo): boolean => applicationName === 'sluice work'
const wrong = 'select count(*)::int from counters where n <> 1'

function proxyOf(db: TestDatabase): Promise<FaultProxy> {
  const { hostname: host, port } = new URL(db.url)
  return startFaultProxy({ host, port: Number(port) })
}

test.each([
  ['a sub-batch in a transaction is not done twice when the answer to its commit is lost', addOne, /^commit/i],
  ['a sub-batch in one statement is not done twice when its answer is lost', addByPreset, /sluice_claim/],
])('%s', async (_, definition, lost) => {
  await using db = await counters(100)
  await using proxy = await proxyOf(db)
  await using claimed = await claimFirst(db, definition, proxy.url(db.workerUrl))
  const fault = proxy.dropAnswerTo(lost, { which: forWork, times: 1, ending: 'rst' })
  await runBatch(claimed.run)
  expect(fault.hits).toBe(1)
  expect(await db.value(wrong)).toBe(0)
  expect(claimed.events.payloads('batch.finished')).toMatchObject([{ rowsSeen: 100, rowsChanged: 100, subBatches: 2 }])
  expect(claimed.events.payloads('sub-batch.doubted')).toMatchObject([{ outcome: 'committed' }])
})

test('a batch counts as finished when the answer to its finish is lost', async () => {
  await using db = await counters(100)
  await using proxy = await proxyOf(db)
  await using claimed = await claimFirst(db, addOne, proxy.url(db.workerUrl))
  const fault = proxy.dropAnswerTo(/delete from sluice\.batch\s/, { times: 1, ending: 'rst' })
  await runBatch(claimed.run)
  expect(fault.hits).toBe(1)
  expect(claimed.events.count('batch.lost')).toBe(0)
  expect(claimed.events.payloads('batch.finished')).toMatchObject([{ rowsSeen: 100, rowsChanged: 100 }])
  expect(await db.value('select batches_finished from sluice.operation')).toBe(1)
})

test('a worker waits for a transaction in doubt before it reads the checkpoint', async () => {
  await using db = await counters(100)
  await using claimed = await claimFirst(db, addOne)
  await using doubtful = await openClient(db.url)
  await doubtful.query('begin')
  await doubtful.query(`update sluice.batch set checkpoint = '{50}'`)
  const found = findCheckpoint(claimed.run)
  expect(await overOrWaiting(db, found)).toBe('waiting')
  await doubtful.query('commit')
  expect(await found).toMatchObject({ checkpoint: ['50'] })
})
