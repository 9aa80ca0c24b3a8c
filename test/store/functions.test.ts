import { expect, inject, onTestFinished, test } from 'vitest'
import { printMigrations, Sluice } from '../../src/index.ts'
import { checkSchema, migrate } from '../../src/store/migrate.ts'
import { functionFile, parseMigration, readRelease, type Release } from '../../src/store/migrations.ts'
import { Pool } from '../../src/store/pool.ts'
import { run, withDatabase } from '../support/cluster.ts'
import { testDatabase, type TestDatabase } from '../support/database.ts'

const ours = await readRelease()

/** A release with another text of one function file: there is one more function in it, which says who wrote it. */
function withFunction(says: string, { version = ours.version }: { version?: string } = {}): Release {
  const functions = ours.functions.map((file) =>
    file.name === 'functions/enqueue'
      ? functionFile(
          'enqueue.sql',
          `${file.sql}\ncreate or replace function sluice.who() returns text language sql as $$ select '${says}' $$;\n`,
        )
      : file,
  )
  return { ...ours, version, functions }
}

/** The same with one more numbered file. */
function withStep(release: Release, head: string, sql = ''): Release {
  const file = `${String(release.migrations.length + 1).padStart(4, '0')}_one_more.sql`
  return { ...release, migrations: [...release.migrations, parseMigration(file, `${head}\n${sql}`)] }
}

function poolOn(url: string): Pool {
  const timeouts = { statementMs: 60_000, lockMs: 15_000, idleInTransactionMs: 60_000 }
  const pool = new Pool({ url, schema: 'sluice', purpose: 'migrate', size: 4, pooled: true, timeouts })
  onTestFinished(() => pool.end())
  return pool
}

async function emptyDatabase(name: string): Promise<string> {
  await run(inject('clusterUrl'), `drop database if exists ${name} with (force)`)
  await run(inject('clusterUrl'), `create database ${name}`)
  return withDatabase(inject('clusterUrl'), name)
}

const who = (db: TestDatabase): Promise<string> => db.value('select sluice.who()')

/** All that a migration may write: when each function was made or replaced, and what is recorded. */
const traces = (db: TestDatabase): Promise<unknown[]> =>
  db.query(`select p.oid::regprocedure::text as name, p.xmin::text as at from pg_proc p
            where p.pronamespace = 'sluice'::regnamespace
            union all select name, hash || release || applied_at from sluice.function_file
            union all select name, version || applied_at::text from sluice.migration
            order by 1, 2`)

test('a function file is applied when its text has changed, and no other one is', async () => {
  await using db = await testDatabase()
  const before = await traces(db)
  const pool = poolOn(db.url)
  expect(await migrate(pool)).toMatchObject({ applied: [] })
  expect(await traces(db)).toEqual(before)

  const replaced = (): Promise<{ name: string; at: string }[]> =>
    db.query(`select distinct p.xmin::text as at, p.oid::regprocedure::text as name from pg_proc p
              where p.pronamespace = 'sluice'::regnamespace order by 2`)
  const old = await replaced()
  expect(await migrate(pool, withFunction('new'))).toMatchObject({ from: 6, to: 6, applied: ['functions/enqueue'] })
  expect(await who(db)).toBe('new')
  const untouched = (await replaced()).filter(({ name, at }) => old.some((f) => f.name === name && f.at === at))
  expect(untouched.map(({ name }) => name)).toContain('sluice.lock_claims()')
  expect(untouched.map(({ name }) => name)).not.toContain('sluice.hint(text[])')
  expect(await migrate(pool, withFunction('new'))).toMatchObject({ applied: [] })
})

test('function files may come in any order, and what they make is valid', async () => {
  const url = await emptyDatabase('functions_reversed')
  const reversed = { ...ours, functions: ours.functions.toReversed() }
  await migrate(poolOn(url), reversed)
  // The bodies were not looked at when they were made.
  await run(
    url,
    `do $$
     declare
       f text;
     begin
       for f in select pg_get_functiondef(oid) from pg_proc
                where pronamespace = 'sluice'::regnamespace and prokind = 'f' loop
         execute f;
       end loop;
     end $$`,
  )
  await using sluice = new Sluice({ database: url })
  expect(await sluice.pendingMigrations()).toEqual([])
})

test('several processes that bring changed functions at once replace them once', async () => {
  await using db = await testDatabase()
  const pool = poolOn(db.url)
  const results = await Promise.all(Array.from({ length: 4 }, () => migrate(pool, withFunction('new'))))
  expect(results.flatMap(({ applied }) => applied)).toEqual(['functions/enqueue'])
})

test('a migration that is cut off in the middle leaves nothing behind', async () => {
  await using db = await testDatabase()
  const pool = poolOn(db.url)
  const before = await traces(db)
  const cut = { ...functionFile('zz.sql', 'select pg_terminate_backend(pg_backend_pid());') }
  const next = withStep(withFunction('new'), '', 'create table sluice.half (x integer);')
  await expect(migrate(pool, { ...next, functions: [...next.functions, cut] })).rejects.toThrow()
  expect(await traces(db)).toEqual(before)
  expect(await db.value(`select to_regclass('sluice.half')`)).toBe(null)
  expect(await migrate(pool, next)).toMatchObject({ from: 6, to: 7, applied: ['one_more', 'functions/enqueue'] })
})

test('an older release neither works with newer functions nor puts its own back', async () => {
  await using db = await testDatabase()
  const pool = poolOn(db.url)
  await migrate(pool, withFunction('newer', { version: '99.0.0' }))
  const before = await traces(db)
  const ahead = { code: 'SCHEMA_AHEAD', message: expect.stringContaining('newer release 99.0.0') }
  await expect(run(db.url, await printMigrations('sluice', 6))).rejects.toThrow('A newer release of Sluice was here')
  await expect(checkSchema(pool)).rejects.toMatchObject(ahead)
  await expect(migrate(pool)).rejects.toMatchObject(ahead)
  await using sluice = new Sluice({ database: db.url })
  await expect(sluice.start()).rejects.toMatchObject(ahead)
  await expect(sluice.migrate()).rejects.toMatchObject(ahead)
  await expect(sluice.pendingMigrations()).rejects.toMatchObject(ahead)
  expect(await traces(db)).toEqual(before)
  expect(await who(db)).toBe('newer')
})

test('neither does it where the newer release has taken functions away', async () => {
  await using db = await testDatabase()
  const pool = poolOn(db.url)
  const functions = ours.functions.filter(({ name }) => name !== 'functions/inbox')
  await migrate(pool, { ...ours, version: '99.0.0', functions })
  await expect(migrate(pool)).rejects.toMatchObject({ code: 'SCHEMA_AHEAD' })
})

test('an older release works on where a numbered file says that it can, and its migrate changes nothing', async () => {
  await using db = await testDatabase()
  const pool = poolOn(db.url)
  const newer = withStep(withFunction('newer', { version: '99.0.0' }), '-- sluice: compatible')
  expect(await migrate(pool, newer)).toMatchObject({ applied: ['one_more', 'functions/enqueue'] })
  const before = await traces(db)
  await using sluice = new Sluice({ database: db.url })
  await sluice.start()
  expect(await sluice.migrate()).toMatchObject({ from: 7, to: 7, applied: [] })
  await expect(run(db.url, await printMigrations('sluice', 6))).rejects.toThrow('A newer release of Sluice was here')
  expect(await traces(db)).toEqual(before)
  expect(await who(db)).toBe('newer')
})

test('a worker refuses functions that are older than its own, and writes none', async () => {
  await using db = await testDatabase()
  const pool = poolOn(db.url)
  const before = await traces(db)
  const next = withFunction('next', { version: '99.0.0' })
  await expect(checkSchema(pool, next)).rejects.toMatchObject({
    code: 'SCHEMA_BEHIND',
    message: expect.stringContaining('sluice migrate'),
    details: { pending: ['functions/enqueue'] },
  })
  expect(await traces(db)).toEqual(before)
  await migrate(pool, next)
  await expect(checkSchema(pool, next)).resolves.toBeUndefined()
})

test('within one release the text at hand wins', async () => {
  await using db = await testDatabase()
  const pool = poolOn(db.url)
  await migrate(pool, withFunction('one'))
  expect(await migrate(pool, withFunction('other'))).toMatchObject({ applied: ['functions/enqueue'] })
  expect(await who(db)).toBe('other')
})

test('a schema from before the first release is refused, and nothing in it is changed', async () => {
  const url = await emptyDatabase('before_the_first')
  await run(
    url,
    `create schema sluice;
     create table sluice.migration (version integer primary key, name text not null, compatible boolean not null,
       applied_at timestamptz not null default clock_timestamp());
     insert into sluice.migration (version, name, compatible)
     select n, case n when 1 then 'create_schema' when 2 then 'create_operations' else 'x' || n end, false
     from generate_series(1, 20) n`,
  )
  await using sluice = new Sluice({ database: url })
  const foreign = {
    code: 'SCHEMA_FOREIGN',
    message: expect.stringMatching(/cannot be upgraded.*then run "sluice migrate"/),
  }
  await expect(sluice.migrate()).rejects.toMatchObject(foreign)
  await expect(sluice.start()).rejects.toMatchObject(foreign)
  await expect(sluice.pendingMigrations()).rejects.toMatchObject(foreign)
  await expect(run(url, await printMigrations('sluice'))).rejects.toThrow('cannot be upgraded')
  expect(await sluice.doctor()).toContainEqual(expect.objectContaining({ check: 'schema', level: 'problem' }))
  const { rows } = await run(
    url,
    `select relname from pg_class where relnamespace = 'sluice'::regnamespace and relkind = 'r'`,
  )
  expect(rows).toEqual([{ relname: 'migration' }])
})
