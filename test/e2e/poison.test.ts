// POISON_ROWS=1000000 is the full form.
import { expect, test } from 'vitest'
import { defineOperation, Sluice, sql } from '../../src/index.ts'
import { testDatabase } from '../support/database.ts'
import { EventLog } from '../support/events.ts'
import { testProfile } from '../support/worker.ts'

const rows = Number(process.env['POISON_ROWS'] ?? 100_000)
const [batchSize, subBatchSize] = [30_000, 1_000]
const limit = { timeout: 600_000 + rows }

test(`one poison row among ${rows} is quarantined alone, and all others are done`, limit, async () => {
  await using db = await testDatabase()
  await db.query(
    'create table counters (id bigint primary key, n int not null default 0, divisor int not null default 1)',
  )
  await db.query('insert into counters (id) select generate_series(1, $1::int)', [rows])
  const poison = Math.floor(rows * 0.6180339)
  await db.query('update counters set divisor = 0 where id = $1', [poison])
  await db.query('vacuum analyze counters')
  const dividing = defineOperation({
    name: 'divide',
    table: 'counters',
    batchSize,
    subBatchSize,
    perform: ({ batch }) => batch.update(sql`n = n + 1 / divisor`),
  })
  await using sluice = new Sluice({ ...testProfile, database: db.workerUrl, operations: [dividing] })
  const events = new EventLog()
  sluice.onAny((event) => events.push(event))
  const began = performance.now()
  await sluice.start()
  const { id } = await sluice.operations.start(dividing)
  const finished = await events.event('operation.finished', { limitMs: limit.timeout })
  const tookMs = Math.round(performance.now() - began)

  const batches = Math.ceil(rows / batchSize)
  expect(finished).toMatchObject({ rowsSeen: rows, rowsChanged: rows - 1, rowsQuarantined: 1, batches })
  expect(await sluice.operations.get(id)).toMatchObject({ state: 'finished_with_quarantine', rowsMatched: rows })
  expect(await sluice.operations.quarantined(id)).toMatchObject([
    { rows: 1, lower_key: [`${poison - 1}`], upper_key: [`${poison}`], error: { code: '22012' } },
  ])
  expect(await db.query('select id::int from counters where n <> 1')).toEqual([{ id: poison }])
  expect(await db.value('select count(*)::int from sluice.batch_history')).toBe(batches)
  // Each failed attempt but the one that isolates the row says that it will be tried again.
  const failed = events.count('batch.retried') + events.count('batch.quarantined')
  const allowed = 2 * Math.log2(subBatchSize) + 3
  expect(failed, `${failed} failed attempts, ${tookMs} ms`).toBeLessThanOrEqual(allowed)
  process.stdout.write(`${rows} rows: ${failed} failed attempts of at most ${allowed.toFixed(1)}, ${tookMs} ms\n`)
})
