import { randomBytes } from 'node:crypto'
import pg from 'pg'
import { grantsScript, Sluice } from '../../../src/index.ts'
import { run, withDatabase, workerPassword } from '../../support/cluster.ts'
import { keyTypes, type StrangePlan, type Surrounding } from './plan.ts'

/** A strange database, with a table of users in it. */
export interface World extends AsyncDisposable {
  /** As an account that has the worker's role, with the settings of the plan. */
  workerUrl: string
  /** The table, as SQL writes it. */
  table: string
  query<Row extends object>(text: string, values?: unknown[]): Promise<Row[]>
}

export const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`

/** Makes the database of a plan. Its settings come last: a person who has them has set them on what was there. */
export async function makeWorld(clusterUrl: string, plan: StrangePlan): Promise<World> {
  const name = `strange_${randomBytes(6).toString('hex')}`
  await createDatabase(clusterUrl, name, plan)
  const url = withDatabase(clusterUrl, name)
  await using sluice = new Sluice({ database: url })
  await sluice.migrate()
  await run(url, grantsScript('sluice'))
  const table = `${quoted(plan.schema)}.${quoted(plan.table)}`
  await run(url, tableScript(plan, table))
  const workerUrl = new URL(url)
  Object.assign(workerUrl, { username: 'test_worker', password: workerPassword })
  await run(url, settingsScript(name, plan))
  // Handlers write through this pool: an error of theirs that the plan asks for would count as a second run.
  const settings = ['statement_timeout=0', 'idle_session_timeout=0', 'search_path=public']
  const options = [...settings, String.raw`default_transaction_isolation=read\ committed`]
    .map((s) => `-c ${s}`)
    .join(' ')
  const pool = new pg.Pool({ connectionString: url, max: 2, options })
  pool.on('error', () => undefined)
  return {
    workerUrl: workerUrl.href,
    table,
    query: async <Row extends object>(text: string, values: unknown[] = []) =>
      (await pool.query<Row>(text, values)).rows,
    async [Symbol.asyncDispose]() {
      await pool.end()
      await run(clusterUrl, `drop database if exists ${name} with (force)`)
    },
  }
}

async function createDatabase(clusterUrl: string, name: string, { encoding }: StrangePlan): Promise<void> {
  const make = `create database ${name} template template0 encoding '${encoding}' lc_collate 'C' lc_ctype 'C'`
  // Version 14 knows no other provider, and no word for it.
  await run(clusterUrl, `${make} locale_provider libc`).catch(async (error: unknown) => {
    if ((error as { code?: string }).code !== '42601') throw error
    await run(clusterUrl, make)
  })
}

function settingsScript(database: string, plan: StrangePlan): string {
  return [
    ...settingsOf(`database ${database}`, plan.database),
    ...settingsOf(`role test_worker in database ${database}`, plan.account),
  ].join('\n')
}

const settingsOf = (whose: string, given: Record<string, string>): string[] =>
  Object.entries(given).map(([name, value]) => `alter ${whose} set ${name} = ${settingValue(name, value)};`)

/** A path is a list of names, and must not become one name. */
const settingValue = (name: string, value: string): string => (name === 'search_path' ? value : `'${value}'`)

function tableScript(plan: StrangePlan, table: string): string {
  const { key, stamp, counter, collation, partitioned, rows } = plan
  const columns = key.map(({ name, type }) => {
    const { type: written } = keyTypes[type]
    const collated = /text|char/.test(written) && collation !== 'default' ? ` collate ${quoted(collation)}` : ''
    return `${quoted(name)} ${written}${collated} not null`
  })
  const list = key.map(({ name }) => quoted(name)).join(', ')
  const values = key.map(({ type }, i) => keyTypes[type].value(i < key.length - 1 ? `g % ${i + 3}` : 'g'))
  return `
    create schema if not exists ${quoted(plan.schema)};
    grant usage on schema ${quoted(plan.schema)} to test_worker;
    create table ${table} (${columns.join(', ')}, sluice_nr int not null, ${quoted(stamp)} timestamptz not null,
      ${quoted(counter)} int not null default 0, sluice_touched int not null default 0, primary key (${list}))
      ${partitioned ? `partition by hash (${list})` : ''};
    ${partitioned ? partitions(plan, table) : ''}
    insert into ${table} (${list}, sluice_nr, ${quoted(stamp)})
    select ${values.join(', ')}, g, now() - case when g % 3 = 0 then interval '2 years' else interval '1 hour' end
    from generate_series(1, ${rows}) g;
    ${plan.surroundings.map((one) => surround(one, table, plan)).join('\n')}
    grant select, insert, update, delete on all tables in schema ${quoted(plan.schema)} to test_worker;
    create table public.ledger (id bigserial primary key, kind text not null, n int not null, key text,
      began timestamptz not null default clock_timestamp(), ended timestamptz);
    grant usage on schema public to test_worker;
    grant select, insert, update on public.ledger to test_worker;
    grant usage on sequence public.ledger_id_seq to test_worker;
    analyze ${table};`
}

function partitions({ schema, table: name }: StrangePlan, table: string): string {
  const part = (i: number): string =>
    `create table ${quoted(schema)}.${quoted(`${name} ${i}`)} partition of ${table} for values with (modulus 3, remainder ${i});`
  return [0, 1, 2].map(part).join('\n')
}

function surround(one: Surrounding, table: string, { schema, counter, key }: StrangePlan): string {
  const of = `${quoted(schema)}.`
  const list = key.map(({ name }) => quoted(name)).join(', ')
  switch (one) {
    case 'touching trigger':
      return `create function ${of}touch() returns trigger language plpgsql as
          $f$ begin new.sluice_touched := new.sluice_touched + 1; return new; end $f$;
        create trigger touch before update on ${table} for each row execute function ${of}touch();`
    case 'statement trigger':
      return `create table ${of}heard (at timestamptz);
        create function ${of}hear() returns trigger language plpgsql security definer set search_path = '' as
          $f$ begin insert into ${of}heard values (now()); return null; end $f$;
        create trigger hear after update or delete on ${table} for each statement execute function ${of}hear();`
    case 'deferred trigger':
      return `create function ${of}late() returns trigger language plpgsql as $f$ begin return null; end $f$;
        create constraint trigger late after update or delete on ${table} initially deferred
          for each row execute function ${of}late();`
    case 'child':
      return `create table ${of}child as select ${list} from ${table} where sluice_nr % 2 = 0;
        alter table ${of}child add foreign key (${list}) references ${table} on delete cascade;
        create index on ${of}child (${list});`
    case 'generated':
      return `alter table ${table} add column sluice_sum int generated always as (sluice_nr + ${quoted(counter)}) stored;`
    case 'check':
      return `alter table ${table} add check (${quoted(counter)} <= 1);`
  }
}
