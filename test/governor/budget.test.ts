import { expect, test } from 'vitest'
import { defineOperation, sql } from '../../src/index.ts'
import { startFaultProxy } from '../support/fault-proxy/index.ts'
import { spawnWorker } from '../support/worker.ts'
import { until } from '../support/wait.ts'
import { counters, working } from '../support/working.ts'

const shape = { name: 'stamp', table: 'counters', batchSize: 400, subBatchSize: 25, lanes: 3 }
const stamp = defineOperation({ ...shape, perform: ({ batch }) => batch.update(sql`n = n + 1`) })
const operations = `
const operations = [defineOperation({
  ...${JSON.stringify(shape)},
  perform: ({ batch }) => batch.update(sql\`n = n + 1, at = clock_timestamp()\`),
})]`

/** The most rows that were changed within any such time. */
const most = `
  select max(count)::int from (
    select count(*) over (order by at range between current row and $1::interval following) as count
    from counters where at is not null
  ) c`

test('several processes together stay within one budget, by the clock of the database', async () => {
  await using db = await counters(3_000)
  await db.query('alter table counters add column at timestamptz')
  const rate = 1_000
  const patterns = `const patterns = { budget: { rowsPerSecond: ${rate} } }`
  const start = async (): Promise<void> => {
    const { sluice } = working(db, [stamp])
    await using _ = sluice
    await sluice.operations.start(stamp)
  }
  const workers = await Promise.all([1, 2, 3].map(() => spawnWorker({ url: db.workerUrl, operations, patterns })))
  try {
    await Promise.all(workers.map(({ events }) => events.event('worker.started')))
    await start()
    await until(
      'all rows are done',
      async () => (await db.value('select bool_and(n = 1) from counters')) === true,
      60_000,
    )
  } finally {
    for (const worker of workers) await worker[Symbol.asyncDispose]()
  }
  const slice = rate / 4
  const allowed = (seconds: number): number => rate * seconds + slice + workers.length * (slice + shape.subBatchSize)
  for (const seconds of [1, 2, 10]) {
    expect(await db.value<number>(most, [`${seconds} seconds`]), `${seconds} s`).toBeLessThanOrEqual(allowed(seconds))
  }
})

test('a lost answer to the payment is paid again: the budget is kept, and every row is done once', async () => {
  await using db = await counters(2_000)
  await db.query('alter table counters add column at timestamptz')
  const upstream = new URL(db.url)
  await using proxy = await startFaultProxy({ host: upstream.hostname, port: Number(upstream.port) })
  const rate = 1_000
  const stamping = defineOperation({
    ...shape,
    lanes: 1,
    perform: ({ batch }) => batch.update(sql`n = n + 1, at = clock_timestamp()`),
  })
  const config = { database: proxy.url(db.workerUrl), budget: { rowsPerSecond: rate } }
  const { sluice, events } = working(db, [stamping], config)
  await using _ = sluice
  await sluice.start()
  const lost = proxy.dropAnswerTo(/update sluice\.budget/, { times: 3, ending: 'rst' })
  await sluice.operations.start(stamping)
  expect(await events.event('operation.finished')).toMatchObject({ rowsChanged: 2_000 })
  expect(lost.hits).toBe(3)
  expect(events.payloads('warning').filter(({ message }) => message.includes('budget'))).toHaveLength(3)
  expect(await db.value('select bool_and(n = 1) from counters')).toBe(true)
  // Each lost answer lets one more sub-batch pass before it is paid for; paid twice, the rest is slower for it.
  const [slice, passed] = [rate / 4, 3 * shape.subBatchSize]
  for (const seconds of [1, 2, 10]) {
    const allowed = rate * seconds + 2 * slice + shape.subBatchSize + passed
    expect(await db.value<number>(most, [`${seconds} seconds`]), `${seconds} s`).toBeLessThanOrEqual(allowed)
  }
})

test('a budget of WAL is kept as well', async () => {
  await using db = await counters(600)
  const { sluice, events } = working(db, [stamp], { budget: { walBytesPerSecond: 100_000 } })
  await using _ = sluice
  await sluice.start()
  const { id } = await sluice.operations.start(stamp)
  await sluice.operations.wait(id, { everyMs: 20 })
  const logged = events.all.flatMap(({ event, payload }) => (event === 'sub-batch.committed' ? [payload.walBytes] : []))
  expect(logged.every((bytes) => bytes > 0)).toBe(true)
  // What was used has been taken off the bucket, below zero, and waited for.
  expect(await db.value<number>(`select tokens from sluice.budget where kind = 'wal'`)).toBeLessThan(25_000)
  expect(await db.value('select bool_and(n = 1) from counters')).toBe(true)
})
