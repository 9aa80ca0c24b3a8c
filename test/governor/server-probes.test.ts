// Probes for what belongs to a whole server, on a server of their own.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { EmbeddedPostgres } from '../../src/embedded/index.ts'
import { activeSessions } from '../../src/governor/probes/active-sessions.ts'
import { archive } from '../../src/governor/probes/archive.ts'
import { checkpoints } from '../../src/governor/probes/checkpoints.ts'
import { slots } from '../../src/governor/probes/slots.ts'
import { vacuum } from '../../src/governor/probes/vacuum.ts'
import { walRate } from '../../src/governor/probes/wal-rate.ts'
import { startCluster } from '../support/cluster.ts'
import { testDatabase, type TestDatabase } from '../support/database.ts'
import { until } from '../support/wait.ts'
import { openProbe, session } from './bench.ts'

let folder: string
let server: EmbeddedPostgres

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sluice-probes-'))
  const settings = {
    fsync: 'off',
    synchronous_commit: 'off',
    archive_mode: 'on',
    archive_command: '/bin/false',
    max_slot_wal_keep_size: '64MB',
    autovacuum: 'off',
    autovacuum_freeze_max_age: '100000',
  }
  server = await startCluster(folder, { settings })
})

afterAll(async () => {
  await server.stop('immediate')
  await rm(folder, { recursive: true, force: true })
})

/** Ends WAL segments, each with something in it. */
async function switchSegments(db: TestDatabase, times: number): Promise<void> {
  for (let i = 0; i < times; i++) {
    await db.query(`select pg_logical_emit_message(false, 'test', 'x')`)
    await db.query('select pg_switch_wal()')
  }
}

test('segments that are not archived are counted, and a failing command is told', async () => {
  await using db = await testDatabase(server.url)
  await using probe = await openProbe(archive, db.workerUrl)
  expect((await probe.look())?.value).toBe(0)
  await switchSegments(db, 3)
  expect((await probe.look())?.value).toBe(3)
  await until('the archiver has tried', async () => (await probe.look())?.said === 'the archive command fails')
})

test('WAL that a slot keeps is a share of what it may keep, up to where it is lost', async () => {
  await using db = await testDatabase(server.url)
  await using probe = await openProbe(slots, db.workerUrl)
  expect(await probe.look()).toBeUndefined()
  await db.query(`select pg_create_physical_replication_slot('standby', true)`)
  await switchSegments(db, 2)
  const seen = await probe.look()
  expect(seen?.said).toBe('slot standby, not in use')
  expect(seen?.value).toBeGreaterThan(0.3)
  expect(seen?.value).toBeLessThan(0.8)
  await switchSegments(db, 6)
  expect((await probe.look())?.value).toBeGreaterThanOrEqual(1)
  expect((await probe.look())?.said).toBe('slot standby, not in use, about to be lost')
  await db.query('checkpoint')
  // What it has lost it does not keep.
  await until('the slot is lost', async () => (await probe.look()) === undefined)
  await db.query(`select pg_drop_replication_slot('standby')`)
})

test('forced checkpoints are counted from the first look on', async () => {
  await using db = await testDatabase(server.url)
  await using probe = await openProbe(checkpoints, db.workerUrl)
  expect(await probe.look()).toEqual({ value: 0 })
  for (let i = 0; i < 3; i++) {
    await db.query(`select pg_logical_emit_message(false, 'test', 'x')`)
    await db.query('checkpoint')
  }
  await until('the server tells', async () => ((await probe.look())?.value ?? 0) >= 3)
  // After five minutes they do not count any more.
  const nowMs = performance.now() + 600_000
  expect(await probe.look({ nowMs })).toEqual({ value: 0 })
})

test('the WAL rate is compared with what is written while we do not work', async () => {
  await using db = await testDatabase(server.url)
  await using probe = await openProbe(walRate, db.workerUrl)
  expect(await probe.look({ nowMs: 1_000, working: false })).toBeUndefined()
  const quiet = await probe.look({ nowMs: 2_000, working: false })
  expect(quiet?.value).toBeLessThan(0.5)
  // Four segments of 16 MB in a second, against a baseline that is taken for 16 MB at least.
  await switchSegments(db, 4)
  expect((await probe.look({ nowMs: 3_000 }))?.value).toBeGreaterThan(2)
})

test('a vacuum against wraparound is told apart', async () => {
  await using db = await testDatabase(server.url)
  await db.query('create table events (id int primary key)')
  await db.query(`do $$ begin
      for i in 1 .. 100100 loop
        perform pg_current_xact_id();
        commit;
      end loop;
    end $$`)
  await using probe = await openProbe(vacuum, db.workerUrl)
  await using cleaner = await session(db.url, 'vacuum')
  await cleaner.query('begin; lock table events in share update exclusive mode')
  expect(await probe.look({}, 'public.events')).toMatchObject({ value: 1, said: expect.stringContaining('wraparound') })
})

test('a long statement that is counted when it has ended does not look like a crowd', async () => {
  await using db = await testDatabase(server.url)
  await using probe = await openProbe(activeSessions, server.url)
  const activeMs = (): Promise<number> => db.value('select sum(active_time)::float8 from pg_stat_database')
  const before = await activeMs()
  expect(await probe.look({ nowMs: 1_000 })).toBeUndefined()
  await using loader = await session(db.url, 'bulk load')
  await loader.query('select pg_sleep(3)')
  await loader.end()
  await until('the statement is counted', async () => (await activeMs()) > before + 2_500)
  // Three seconds of work within one: three sessions, if nobody asked whether they are there.
  expect(await probe.look({ nowMs: 2_000 })).toEqual({ value: 0 })
  await using busy = await session(db.url, 'web')
  await busy.query('begin')
  await busy.query('select pg_sleep(1)')
  await until('a session that is there counts', async () => ((await probe.look({ nowMs: 3_000 }))?.value ?? 0) > 0.2)
})
