import { expect, inject, test } from 'vitest'
import { printMigrations, Sluice } from '../../src/index.ts'
import { migrate } from '../../src/store/migrate.ts'
import { parseMigration, readRelease } from '../../src/store/migrations.ts'
import { Pool } from '../../src/store/pool.ts'
import { run, withDatabase } from '../support/cluster.ts'
import { testDatabase } from '../support/database.ts'
import { dumpSchema } from '../support/schema.ts'
import { until } from '../support/wait.ts'

async function emptyDatabase(name: string): Promise<string> {
  await run(inject('clusterUrl'), `drop database if exists ${name} with (force)`)
  await run(inject('clusterUrl'), `create database ${name}`)
  return withDatabase(inject('clusterUrl'), name)
}

test('several starters at once migrate once', async () => {
  const database = await emptyDatabase('migrate_many')
  const results = await Promise.all(
    Array.from({ length: 6 }, async () => {
      await using sluice = new Sluice({ database })
      return sluice.migrate()
    }),
  )
  expect(results.filter(({ applied }) => applied.length > 0)).toHaveLength(1)
  await using sluice = new Sluice({ database })
  expect(await sluice.pendingMigrations()).toEqual([])
})

test('the schema is the one that was agreed on', async () => {
  await using db = await testDatabase()
  await expect(await dumpSchema(db)).toMatchFileSnapshot('../support/schema.sql')
})

test('functions that forbid kinds of plans do not let plans be compiled: a forbidden step counts as endlessly expensive', async () => {
  await using db = await testDatabase()
  const forbidding = await db.query<{ name: string; compiles: boolean }>(
    `select p.proname as name, not 'jit=off' = any(p.proconfig) as compiles
     from pg_proc p
     where p.pronamespace = 'sluice'::regnamespace and exists (select from unnest(p.proconfig) s where s like 'enable_%')`,
  )
  expect(forbidding.length).toBeGreaterThan(4)
  expect(forbidding.filter(({ compiles }) => compiles)).toEqual([])
})

test('the printed script makes the same schema, also under another name', async () => {
  const database = await emptyDatabase('migrate_script')
  await run(database, await printMigrations('other_name'))
  await using sluice = new Sluice({ database, schema: 'other_name' })
  expect(await sluice.pendingMigrations()).toEqual([])
  await run(database, await printMigrations('sluice'))
  // Functions are in every script; to make them again changes nothing.
  await run(database, await printMigrations('sluice', 6))
  await using db = await testDatabase()
  const { default: pg } = await import('pg')
  const client = new pg.Client({ connectionString: database })
  await client.connect()
  const query = async (text: string): Promise<never[]> => (await client.query(text)).rows as never[]
  expect(await dumpSchema({ query })).toBe(await dumpSchema(db))
  await client.end()
})

test('a failing migration leaves nothing behind', async () => {
  const database = await emptyDatabase('migrate_fails')
  await run(database, 'create schema sluice; create table sluice.worker (x int)')
  await using sluice = new Sluice({ database })
  await expect(sluice.migrate()).rejects.toThrow('already exists')
  await run(database, 'drop table sluice.worker')
  await expect(sluice.migrate()).resolves.toMatchObject({ from: 0 })
})

test('a migration that cannot get its lock says so and changes nothing', async () => {
  const database = await emptyDatabase('migrate_busy')
  const { default: pg } = await import('pg')
  const other = new pg.Client({ connectionString: database })
  await other.connect()
  await other.query(`begin; select pg_advisory_xact_lock(hashtextextended('sluice.migrate', 0))`)
  const timeouts = { statementMs: 5_000, lockMs: 200, idleInTransactionMs: 5_000 }
  const pool = new Pool({ url: database, schema: 'sluice', purpose: 'migrate', size: 1, pooled: true, timeouts })
  await expect(migrate(pool)).rejects.toMatchObject({ code: 'MIGRATION_BUSY' })
  await other.query('rollback')
  await expect(migrate(pool)).resolves.toMatchObject({ from: 0 })
  await Promise.all([pool.end(), other.end()])
})

test('a migration that the server ends because of a deadlock with a worker is run again', async () => {
  await using db = await testDatabase()
  const { default: pg } = await import('pg')
  const worker = new pg.Client({ connectionString: db.url })
  await worker.connect()
  // It never looks for a deadlock itself, so the server ends the migration.
  await worker.query(`set deadlock_timeout = '1h'; begin; lock table sluice.batch in row exclusive mode`)
  const { rows } = await worker.query<{ pid: number }>('select pg_backend_pid() as pid')
  const ours = await readRelease()
  // The worker waits for the first table, or is gone, before the migration asks for the second one.
  const step = `alter table sluice.operation add column origin text;
    do $$ begin
      while exists (select from pg_locks where relation = 'sluice.batch'::regclass and granted and pid = ${rows[0]?.pid})
        and not exists (select from pg_locks where relation = 'sluice.operation'::regclass and not granted) loop
        perform pg_sleep(0.02);
      end loop;
    end $$;
    alter table sluice.batch add column origin text;`
  const next = parseMigration(`${String(ours.migrations.length + 1).padStart(4, '0')}_origins.sql`, step)
  const timeouts = { statementMs: 60_000, lockMs: 60_000, idleInTransactionMs: 60_000 }
  const pool = new Pool({ url: db.url, schema: 'sluice', purpose: 'migrate', size: 1, pooled: true, timeouts })
  const migrated = migrate(pool, { ...ours, version: '99.0.0', migrations: [...ours.migrations, next] })
  await until('the migration has the first table', () =>
    db.value(`select exists (select from pg_locks where relation = 'sluice.operation'::regclass
      and mode = 'AccessExclusiveLock' and granted)`),
  )
  await worker.query('lock table sluice.operation in row exclusive mode; commit')
  await expect(migrated).resolves.toMatchObject({ applied: ['origins'] })
  await Promise.all([pool.end(), worker.end()])
})

test('a worker refuses a schema that it does not know, older or newer', async () => {
  await using db = await testDatabase()
  const start = async (): Promise<void> => {
    await using sluice = new Sluice({ database: db.url })
    await sluice.start()
  }
  await db.query(`insert into sluice.migration (version, name, compatible) values (99, 'from_the_future', false)`)
  await expect(start()).rejects.toMatchObject({
    code: 'SCHEMA_AHEAD',
    message: expect.stringContaining('newer release'),
  })
  await using sluice = new Sluice({ database: db.url })
  await expect(sluice.migrate()).rejects.toMatchObject({ code: 'SCHEMA_AHEAD' })
  await db.query('update sluice.migration set compatible = true where version = 99')
  await expect(start()).resolves.toBeUndefined()
  await db.query('delete from sluice.migration where version >= 4')
  await expect(start()).rejects.toMatchObject({
    code: 'SCHEMA_BEHIND',
    message: expect.stringContaining('sluice migrate'),
  })
})

test('a migration file says by its name and head what it is', () => {
  expect(parseMigration('0007_add_x.sql', '-- Why.\n-- sluice: compatible\n\nselect 1;')).toMatchObject({
    version: 7,
    name: 'add_x',
    compatible: true,
  })
  expect(parseMigration('0007_add_x.sql', '-- Why.\nselect 1; -- sluice: compatible').compatible).toBe(false)
  expect(() => parseMigration('0007_add_x.sql', '-- sluice: compatable\n')).toThrow('unknown directive')
  expect(() => parseMigration('7.sql', '')).toThrow('file name')
})

test('the history partitions of the coming weeks are there, and making them again changes nothing', async () => {
  await using db = await testDatabase()
  const partitions = (): Promise<number> =>
    db.value(`select count(*)::int from pg_inherits where inhparent = 'sluice.batch_history'::regclass`)
  expect(await partitions()).toBe(5)
  await db.query(
    'drop table sluice.batch_history_' +
      new Date(Date.now() + 14 * 86_400_000 - ((new Date().getUTCDay() + 6) % 7) * 86_400_000)
        .toISOString()
        .slice(0, 10)
        .replaceAll('-', ''),
  )
  expect(await db.value('select sluice.create_history_partitions(4)')).toBe(1)
  expect(await partitions()).toBe(5)
})
