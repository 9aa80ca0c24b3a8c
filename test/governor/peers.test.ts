import { expect, test } from 'vitest'
import { defineOperation, sql } from '../../src/index.ts'
import { Peers } from '../../src/governor/peers.ts'
import { asConnection, testDatabase } from '../support/database.ts'
import { until } from '../support/wait.ts'
import { alone } from '../support/worker.ts'
import { counters, working } from '../support/working.ts'

const [first, second] = ['01a1e834-f5cc-7cee-95dd-000000000001', '01a1e834-f5cc-7cee-95dd-000000000002']

test('workers hear how many transactions the others have, unless those are silent', async () => {
  await using db = await testDatabase()
  await db.query(
    `insert into sluice.worker (id, host, pid, version, operations) values ($1, 'a', 1, '0', '{}'), ($2, 'b', 2, '0', '{}')`,
    [first, second],
  )
  const connection = { ...asConnection(db), schema: 'sluice' }
  const [one, other] = [new Peers(), new Peers()]
  const tell = (peers: Peers, workerId: string, transactions: number, nowMs: number): Promise<void> =>
    peers.hear(connection, { workerId, transactions, nowMs })
  await tell(one, first, 1_000, 0)
  await tell(one, first, 5_000, 10_000)
  await tell(other, second, 0, 10_000)
  expect([one.perSecond, other.perSecond]).toEqual([0, 400])
  // Soon after, nobody is asked again.
  await tell(other, second, 100, 12_000)
  await tell(other, second, 1_000, 20_000)
  await tell(one, first, 5_000, 20_000)
  expect([one.perSecond, other.perSecond]).toEqual([100, 400])
  await db.query(`update sluice.worker set seen_at = now() - interval '2 minutes' where id = $1`, [second])
  await tell(one, first, 5_000, 30_000)
  expect(one.perSecond).toBe(0)
})

test('a worker on an operation says how many it has', async () => {
  await using db = await counters(20_000)
  const operation = defineOperation({
    name: 'add-one',
    table: 'counters',
    batchSize: 5_000,
    subBatchSize: 5,
    perform: ({ batch }) => batch.update(sql`n = n + 1`),
  })
  const { sluice } = working(db, [operation], { governor: alone })
  await using _ = sluice
  await sluice.start()
  await sluice.operations.start(operation)
  await until(
    'its transactions show',
    async () => (await db.value<number>('select max(transactions) from sluice.worker')) > 5,
    60_000,
  )
})
