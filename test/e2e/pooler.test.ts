import { expect, inject, test } from 'vitest'
import { testDatabase } from '../support/database.ts'
import { startFaultProxy } from '../support/fault-proxy/index.ts'
import { spawnWorker } from '../support/worker.ts'

const operations = `
const operations = [defineOperation({
  name: 'count-once', table: 'counters', batchSize: 500, subBatchSize: 50, lanes: 2,
  perform: ({ batch }) => batch.update(sql\`n = n + 1\`),
})]`

test('workers do their work through a transaction pooler with fewer sessions than they have connections', async () => {
  await using db = await testDatabase()
  await db.query('create table counters (id bigint primary key, n int not null default 0)')
  await db.query('insert into counters (id) select generate_series(1, 5000)')
  const upstream = new URL(inject('clusterUrl'))
  await using proxy = await startFaultProxy({ host: upstream.hostname, port: Number(upstream.port) })
  const shared = proxy.pooling('transaction', { backends: 3 })
  const url = proxy.url(db.workerUrl)
  await using first = await spawnWorker({ url, operations })
  await using second = await spawnWorker({ url, operations })
  await Promise.all([first, second].map(({ events }) => events.event('worker.started')))

  const { defineOperation, sql, Sluice } = await import('../../src/index.ts')
  const countOnce = defineOperation({
    name: 'count-once',
    table: 'counters',
    batchSize: 500,
    subBatchSize: 50,
    lanes: 2,
    perform: ({ batch }) => batch.update(sql`n = n + 1`),
  })
  await using sluice = new Sluice({ database: url })
  const { id } = await sluice.operations.start(countOnce)
  const status = await sluice.operations.wait(id)

  expect(status).toMatchObject({ state: 'finished', rowsChanged: 5_000 })
  expect(await db.value('select count(*)::int from counters where n <> 1')).toBe(0)
  expect(shared.hits).toBeGreaterThan(50)
})
