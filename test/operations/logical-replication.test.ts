// Whoever decodes the log of the server, as change data capture does, gets rows that changed and nothing else from us.
import sql from 'sql-template-tag'
import { expect, test } from 'vitest'
import { defineOperation } from '../../src/index.ts'
import { commitTime } from '../../src/governor/probes/commit-time.ts'
import { openProbe } from '../governor/bench.ts'
import { testDatabase } from '../support/database.ts'
import { ownServer } from '../support/own-server.ts'
import { patient, working } from '../support/working.ts'

/** What a subscriber of everything gets: one byte for the kind of each message. M: a message that is in no table. */
const decoded = `select distinct chr(get_byte(data, 0)) as kind
  from pg_logical_slot_peek_binary_changes('capture', null, null, 'proto_version', '1', 'publication_names', 'all_tables',
    'messages', 'true')`

test('neither operations nor probes send messages of their own to logical replication', async () => {
  await using server = await ownServer({ wal_level: 'logical' })
  await using db = await testDatabase(server.url)
  await db.query('create table counters (id bigint primary key, n int not null default 0)')
  await db.query('insert into counters select generate_series(1, 100)')
  await db.query('create publication all_tables for table counters')
  await db.query(`select pg_create_logical_replication_slot('capture', 'pgoutput')`)
  const slowly = defineOperation({
    name: 'slowly',
    table: 'counters',
    subBatchSize: 50,
    async perform({ batch }) {
      await batch.query(sql`select pg_sleep(0.1)`)
      return batch.update(sql`n = n + 1`)
    },
  })
  const { sluice, events } = working(db, [slowly], patient)
  await using _ = sluice
  await sluice.start()
  await sluice.operations.start(slowly)
  await events.event('operation.finished')
  await using probe = await openProbe(commitTime, db.workerUrl)
  const before = await db.value<string>('select pg_current_wal_insert_lsn()')
  await probe.look()
  // The log was written to, or the probe has nothing to measure.
  expect(await db.value('select pg_current_wal_insert_lsn() > $1::pg_lsn', [before])).toBe(true)
  const kinds = (await db.query<{ kind: string }>(decoded)).map(({ kind }) => kind)
  expect(kinds).toContain('U')
  expect(kinds).not.toContain('M')
  await sluice.stop()
  await db.query(`select pg_drop_replication_slot('capture')`)
})
