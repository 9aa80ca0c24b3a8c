import { expect, test } from 'vitest'
import { defineOperation, sql } from '../../src/index.ts'
import { testDatabase } from '../support/database.ts'
import { ownServer } from '../support/own-server.ts'
import { addRows, working } from '../support/working.ts'

test('a server that is killed takes rows and checkpoints back together', async () => {
  await using server = await ownServer({ wal_writer_delay: '10s', synchronous_commit: 'off' })
  await using db = await testDatabase(server.url)
  await db.query('create table counters (id bigint primary key, n int not null default 0)')
  await addRows(db, 1, 2_400)
  const slowly = defineOperation({
    name: 'slowly',
    table: 'counters',
    subBatchSize: 20,
    batchSize: 2_400,
    perform: async ({ batch }) => {
      await new Promise((resolve) => setTimeout(resolve, 5))
      return batch.update(sql`n = n + 1`)
    },
  })
  const { sluice, events } = working(db, [slowly])
  await using _ = sluice
  await sluice.start()
  await sluice.operations.start(slowly)
  await events.event('sub-batch.committed', { nth: 50 })
  await server.crash()
  expect(await events.event('operation.finished', { limitMs: 90_000 })).toMatchObject({ rowsChanged: 2_400 })
  expect(await db.value('select count(*)::int from counters where n <> 1')).toBe(0)
})
