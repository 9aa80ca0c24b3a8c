import assert from 'node:assert/strict'
import pg from 'pg'
import { startEmbedded } from '../../src/embedded/index.ts'
import { Sluice } from '../../src/index.ts'
import { expireEvents } from './operations.ts'
import config from './sluice.config.ts'

// A database: yours, or else an embedded one that needs no installation.
const given = process.env['DATABASE_URL']
await using embedded = given === undefined ? await startEmbedded({ dataDir: '.sluice/postgres' }) : undefined
const database = given ?? embedded?.url

// A table with 10,000 events: 50 on each of the last 200 days.
const application = new pg.Client({ connectionString: database })
await application.connect()
await application.query(`
  drop table if exists example_events;
  create table example_events (id bigint generated always as identity primary key, created_at timestamptz not null);
  insert into example_events (created_at)
  select now() - (0.5 + n % 200) * interval '1 day' from generate_series(1, 10000) n`)

// The operation: recorded by start(), done by the worker in this process.
await using sluice = new Sluice({ ...config, database })
await sluice.migrate()
await sluice.start()
const { id } = await sluice.operations.start(expireEvents)
const { state, rowsChanged } = await sluice.operations.wait(id)
process.stdout.write(`${state}: ${rowsChanged} events deleted\n`)

// Look for yourself: the days 91 to 200 are gone, the last 90 are there.
const { rows } = await application.query<{ left: number; aged: number }>(`
  select count(*)::int as left, count(*) filter (where created_at < now() - interval '90 days')::int as aged
  from example_events`)
await application.end()
assert.deepEqual({ state, rowsChanged }, { state: 'finished', rowsChanged: 110 * 50 })
assert.deepEqual(rows, [{ left: 90 * 50, aged: 0 }])
process.stdout.write('exactly those older than 90 days\n')
