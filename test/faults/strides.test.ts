import { expect, test } from 'vitest'
import { backfill, sql } from '../../src/index.ts'
import { fullPages } from '../operations/full-pages-table.ts'
import { startFaultProxy } from '../support/fault-proxy/index.ts'
import { until } from '../support/wait.ts'
import { spawnWorker, testProfile } from '../support/worker.ts'
import { patient, working } from '../support/working.ts'

const finish = backfill({ name: 'finish', table: 'counters', set: { done: sql`true` }, subBatchSize: 100 })
/** The same on any machine: what is chosen otherwise depends on who holds a snapshot at that moment. */
const strided = backfill({ name: 'finish', table: 'counters', set: { done: sql`true` }, subBatchSize: 100, stride: 10 })
const wrong = 'select count(*)::int from counters where n <> 1 or not done'

test('each row changes once and is counted once, though answers within a stride are lost', async () => {
  await using db = await fullPages(6_000)
  const upstream = new URL(db.url)
  await using proxy = await startFaultProxy({ host: upstream.hostname, port: Number(upstream.port) })
  const { sluice, events } = working(db, [strided], { ...patient, database: proxy.url(db.workerUrl) })
  await using _ = sluice
  await sluice.start()
  await sluice.operations.start(strided)
  await events.event('sub-batch.committed')
  const lost = proxy.dropAnswerTo(/tidsend/, { times: 3, ending: 'rst' })
  expect(await events.event('operation.finished')).toMatchObject({ rowsSeen: 6_000, rowsChanged: 6_000 })
  expect(lost.hits).toBeGreaterThan(0)
  expect(await db.value(wrong)).toBe(0)
  expect(events.payloads('sub-batch.doubted').map(({ outcome }) => outcome)).toContain('told by the rows')
})

test('a worker killed within a stride leaves nothing out and nothing to do twice', async () => {
  const wait = `if old.id = 17 then while not exists (select from go) loop perform pg_sleep(0.02); end loop; end if;`
  await using db = await fullPages(3_000, wait)
  await db.query('create table go (now int)')
  const operations = `const operations = [backfill({ name: 'finish', table: 'counters', set: { done: sql\`true\` }, subBatchSize: 60, stride: 10 })]`
  const profile = { ...testProfile, timeouts: { ...testProfile.timeouts, statement: '60s' } }
  const { sluice } = working(db, [finish])
  await using _ = sluice
  const { id } = await sluice.operations.start(finish)
  {
    await using worker = await spawnWorker({ url: db.workerUrl, operations, profile })
    const within = 'select count(*)::int from sluice.batch where rows_changed > rows_seen and rows_seen = 0'
    await until('some transactions of a stride are done', async () => (await db.value(within)) === 1)
    worker.kill('SIGKILL')
    await worker.exited
  }
  // The server does not notice while it works for the dead one.
  await db.query(`select pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and application_name = 'sluice work'`)
  await db.query('insert into go values (1)')
  await using _other = await spawnWorker({ url: db.workerUrl, operations, profile })
  const done = await sluice.operations.wait(id, { everyMs: 50 })
  expect(done).toMatchObject({ state: 'finished', rowsSeen: 3_000, rowsChanged: 3_000 })
  expect(await db.value(wrong)).toBe(0)
})
