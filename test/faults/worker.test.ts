import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { defineOperation, Sluice, sql } from '../../src/index.ts'
import { testDatabase, type TestDatabase } from '../support/database.ts'
import { startFaultProxy } from '../support/fault-proxy/index.ts'
import { patiently } from '../support/patience.ts'
import { spawnWorker, testProfile } from '../support/worker.ts'

const shape = { name: 'count-once', table: 'counters', batchSize: 500, subBatchSize: 50 }
const operations = `
const operations = [defineOperation({
  ...${JSON.stringify(shape)},
  async perform({ batch }) {
    await new Promise((resolve) => setTimeout(resolve, 20))
    return batch.update(sql\`n = n + 1\`)
  },
})]`

async function startCounting(db: TestDatabase, rows: number): Promise<string> {
  await db.query('create table counters (id bigint primary key, n int not null default 0)')
  await db.query('insert into counters (id) select generate_series(1, $1::int)', [rows])
  const countOnce = defineOperation({ ...shape, perform: ({ batch }) => batch.update(sql`n = n + 1`) })
  await using sluice = new Sluice({ database: db.url })
  return (await sluice.operations.start(countOnce)).id
}

test('a killed worker leaves its batch to the next one, and no row is done twice', async () => {
  await using db = await testDatabase()
  await startCounting(db, 2_000)
  await using first = await spawnWorker({ url: db.workerUrl, operations })
  await first.events.event('sub-batch.committed', { nth: 3 })
  first.kill('SIGKILL')
  await using second = await spawnWorker({ url: db.workerUrl, operations })
  expect(await second.events.event('operation.finished')).toMatchObject({ rowsChanged: 2_000 })
  expect(second.events.all.find(({ event }) => event === 'batch.started')?.payload).toMatchObject({ resumed: true })
  expect(await db.value('select count(*)::int from counters where n <> 1')).toBe(0)
})

test.each([
  ['SIGTERM', 143],
  ['SIGINT', 130],
] as const)('%s ends a worker in order: nothing stays leased, and it exits with %d', async (signal, code) => {
  await using db = await testDatabase()
  await startCounting(db, 20_000)
  await using worker = await spawnWorker({ url: db.workerUrl, operations })
  await worker.events.event('sub-batch.committed', { nth: 2 })
  worker.kill(signal)
  expect(await worker.exited).toBe(code)
  expect(await db.query('select state, crashes from sluice.batch')).toEqual([{ state: 'ready', crashes: 0 }])
  expect(await db.value('select count(*)::int from sluice.worker')).toBe(0)
})

test('a worker that cannot reach its database says so and exits with 3, without the password', async () => {
  await using worker = await spawnWorker({ url: 'postgres://u:s3cret@127.0.0.1:1/x', operations })
  expect(await worker.exited).toBe(3)
  const said = worker.stderr.join('\n')
  expect(said).toContain('DATABASE_UNREACHABLE')
  expect(said).not.toContain('s3cret')
})

test('a worker on a schema that it does not know refuses with 4', async () => {
  await using db = await testDatabase()
  await db.query('delete from sluice.migration where version >= 4')
  await using worker = await spawnWorker({ url: db.workerUrl, operations })
  expect(await worker.exited).toBe(4)
  expect(worker.stderr.join('\n')).toContain('sluice migrate')
})

test('a handler that ignores its signal does not keep a stopping worker, and nothing of it is committed', async () => {
  await using db = await testDatabase()
  await startCounting(db, 1_000)
  const deaf = operations.replace('setTimeout(resolve, 20)', 'setTimeout(resolve, 60_000)')
  const profile = {
    ...testProfile,
    worker: { ...testProfile.worker, stop: '500ms', noProgress: '1m' },
    timeouts: { ...testProfile.timeouts, idleInTransaction: '1m' },
  }
  await using worker = await spawnWorker({ url: db.workerUrl, operations: deaf, profile })
  await worker.events.event('batch.started')
  worker.kill('SIGTERM')
  expect(await Promise.race([worker.exited, sleep(15_000, 'still there')])).toBe(143)
  expect(await db.value('select count(*)::int from counters where n > 0')).toBe(0)
})

test.each([
  ['carving a batch', /insert into sluice\.batch as b/],
  ['finishing a batch', /done as \(\s*delete from sluice\.batch\s/],
  ['finishing an operation', /^with done as materialized/],
])('a lost answer to %s leaves every row done once', async (_, statement) => {
  await using db = await testDatabase()
  const upstream = new URL(db.url)
  await using proxy = await startFaultProxy({ host: upstream.hostname, port: Number(upstream.port) })
  const lost = proxy.dropAnswerTo(statement, { times: 2, ending: 'rst' })
  const id = await startCounting(db, 3_000)
  await using worker = await spawnWorker({ url: proxy.url(db.workerUrl), operations })
  await using sluice = new Sluice({ database: db.url })
  expect(await sluice.operations.wait(id, { signal: AbortSignal.timeout(patiently(60_000)) })).toMatchObject({
    state: 'finished',
    rowsChanged: 3_000,
  })
  expect(lost.hits).toBeGreaterThanOrEqual(1)
  expect(await db.value('select count(*)::int from counters where n <> 1')).toBe(0)
  expect(await db.value('select count(*)::int from sluice.operation_history')).toBe(1)
  expect(worker.stderr.join('\n')).not.toContain('unhandled')
})
