/**
 * The daily run of a retention: few rows of a large table are aged, and an index knows which. Timed is the work, with
 * what Sluice looks for afterwards; counted are the rows that the server read for it.
 */
import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import type * as SluiceModule from '../../src/index.ts'
import type { OperationDefinition } from '../../src/index.ts'
import { connected, inDatabase } from '../database.ts'
import { interleave, spread, type Outcome, type Run } from '../harness.ts'
import { aligned, shown } from '../report.ts'

/** As users have it: the built package. */
const built = new URL('../../dist/index.js', import.meta.url).href
const { defineOperation, expire, Sluice, sql } = (await import(built)) as typeof SluiceModule

interface Case {
  title: string
  rows: number
  /** The table `items`, with a column `id`. */
  create: string
  /** The rows to delete. */
  where: string
  operation: OperationDefinition<undefined>
}

const count = (n: number): string => Math.round(n).toLocaleString('en-US')

/** A table of which the oldest percent is aged, with an index on the age. */
function daily(rows: number): Case {
  return {
    title: `1 % of ${count(rows)} rows aged, index on created_at`,
    rows,
    create: `
      create table items (id bigint primary key, created_at timestamptz not null, payload text not null);
      insert into items
      select i, now() - interval '1 day' * (case when i <= ${rows} / 100 then 92 - i * 100.0 / ${rows} else 80 - 80.0 * i / ${rows} end),
        repeat(md5(i::text), 4)
      from generate_series(1, ${rows}) i;
      create index items_created_at on items (created_at);`,
    where: `created_at < now() - interval '90 days'`,
    operation: expire({ name: 'expire-items', table: 'items', by: 'created_at', olderThan: '90 days' }),
  }
}

/** One of two hundred users has done two thirds of the todos; an index knows whose they are, and perhaps which are done. */
function todos(rows: number, index: string): Case {
  const where = `user_id = 42 and state = 'done'`
  return {
    title: `the done todos of one user among ${count(rows)} rows, index on ${index}`,
    rows,
    create: `
      create table items (id bigint primary key, user_id int not null, state text not null, title text not null);
      insert into items
      select i, i % 200, case when i % 3 = 0 then 'open' else 'done' end, repeat(md5(i::text), 4)
      from generate_series(1, ${rows}) i;
      create index items_user on items ${index};`,
    where,
    operation: defineOperation({
      name: 'clear-done',
      table: 'items',
      scope: () => sql`user_id = 42 and state = 'done'`,
      perform: ({ batch }) => batch.delete(),
      until: 'end',
    }),
  }
}

/** What is measured, smallest first. */
export const retentionCases = (sizes: readonly number[], todoRows: number): Case[] => [
  ...sizes.map(daily),
  todos(todoRows, `(user_id, id) where state = 'done'`),
  todos(todoRows, '(user_id)'),
]

/** A run, and what the server read for it. */
interface RetentionRun extends Run {
  /** Rows of the table that were looked at, one after the other or by an index. */
  read: number
  /** Entries of its indexes that were passed, also where the row behind them was not looked at. */
  entries: number
}

export interface Measured {
  title: string
  outcomes: Outcome<RetentionRun>[]
}

/** Does the work; what is given to `timed` is measured. */
type Way = (url: string, of: Case, timed: (work: () => Promise<unknown>) => Promise<void>) => Promise<void>

const ways: Record<string, Way> = {
  'one DELETE': byHand(async (client, { where }) => {
    await client.query(`delete from items where ${where}`)
  }),
  'LIMIT 500 loop': byHand(async (client, { where }) => {
    const some = `delete from items where id in (select id from items where ${where} limit 500)`
    for (let rows = 1; rows > 0;) rows = (await client.query(some)).rowCount ?? 0
  }),
  'Sluice, verified': bySluice,
}

/** Runs each way on each table, interleaved. */
export async function measureRetention(
  { url, cases, rounds }: { url: string; cases: readonly Case[]; rounds: number },
  say: (line: string) => void,
): Promise<Measured[]> {
  const measured: Measured[] = []
  for (const one of cases) {
    say(one.title)
    await using table = await ItemsTable.create(url, one)
    const variants = Object.entries(ways).map(([name, way]) => ({ name, run: () => table.measure(way) }))
    measured.push({ title: one.title, outcomes: await interleave({ variants }, rounds, say) })
  }
  return measured
}

/** The report, as Markdown. */
export function retentionReport(
  measured: readonly Measured[],
  about: { conditions: string[]; command: string },
): string {
  const facts = [
    'read: seq_tup_read and idx_tup_fetch of pg_stat_user_tables; index entries: idx_tup_read of pg_stat_user_indexes; for Sluice with its start and its second pass',
    'every run was checked: exactly the rows that were meant are gone',
    'median [min..max] over interleaved rounds; ratios are taken within each round',
  ]
  const lines = [...about.conditions, ...facts, `\`${about.command}\``].map((line) => `- ${line}`)
  const tables = measured.flatMap(({ title, outcomes }) => [`### ${title}`, '', ...aligned(rowsOf(outcomes)), ''])
  return ['## retention: a small part of a large table', '', ...lines, '', ...tables].join('\n')
}

const figure = (values: number[], digits: number): string => shown(spread(values), digits)

function rowsOf(outcomes: readonly Outcome<RetentionRun>[]): string[][] {
  const loop = outcomes.find(({ variant }) => variant === 'LIMIT 500 loop')?.runs ?? []
  return [
    ['', 'ms', '÷ time of the loop', 'rows', 'read ÷ rows', 'index entries ÷ rows'],
    ...outcomes.map(({ variant, runs }) => [
      variant,
      figure(
        runs.map(({ ms }) => ms),
        0,
      ),
      figure(
        runs.map(({ ms }, i) => ms / (loop[i]?.ms ?? Number.NaN)),
        2,
      ),
      count(runs[0]?.rows ?? 0),
      figure(
        runs.map(({ read, rows }) => read / rows),
        2,
      ),
      figure(
        runs.map(({ entries, rows }) => entries / rows),
        2,
      ),
    ]),
  ]
}

/** The table; after each run, what is gone is put back. */
class ItemsTable {
  readonly #server: string
  readonly #name: string
  readonly #case: Case
  readonly #rows: number

  private constructor(server: string, at: { name: string; case: Case; rows: number }) {
    this.#server = server
    this.#name = at.name
    this.#case = at.case
    this.#rows = at.rows
  }

  static async create(server: string, of: Case): Promise<ItemsTable> {
    const name = `bench_${randomBytes(6).toString('hex')}`
    await connected(server, (client) => client.query(`create database ${name}`))
    const url = inDatabase(server, name)
    await using sluice = new Sluice({ database: url })
    await sluice.migrate()
    const rows = await connected(url, async (client) => {
      await client.query(of.create)
      await client.query(`create table kept as select * from items where ${of.where}`)
      await client.query('vacuum (analyze, freeze) items')
      return numberFrom(client, 'select count(*) as n from kept')
    })
    return new ItemsTable(server, { name, case: of, rows })
  }

  async measure(way: Way): Promise<RetentionRun> {
    const url = inDatabase(this.#server, this.#name)
    const before = await this.#read()
    let ms = 0
    await way(url, this.#case, async (timed) => {
      const began = performance.now()
      await timed()
      ms += performance.now() - began
    })
    const after = await this.#read()
    await connected(url, async (client) => {
      const left = await numberFrom(client, `select count(*) as n from items where ${this.#case.where}`)
      const all = await numberFrom(client, 'select count(*) as n from items')
      if (left > 0 || all !== this.#case.rows - this.#rows) {
        throw new Error(`wrong rows: ${left} that were meant are left, and ${all} in all`)
      }
      await client.query('insert into items select * from kept')
      await client.query('vacuum (analyze) items')
      await client.query('checkpoint')
    })
    return { rows: this.#rows, ms, read: after.read - before.read, entries: after.entries - before.entries }
  }

  /** Rows of the table that were read so far. A session says it all when it has ended. */
  async #read(): Promise<{ read: number; entries: number }> {
    return connected(this.#server, async (client) => {
      const others = `select count(*) as n from pg_stat_activity where datname = '${this.#name}'`
      while ((await numberFrom(client, others)) > 0) await sleep(50)
      // Up to PostgreSQL 14 it says so to a process that writes it down twice a second.
      const version = await numberFrom(client, `select current_setting('server_version_num') as n`)
      if (version < 150_000) await sleep(1_200)
      return connected(inDatabase(this.#server, this.#name), async (own) => ({
        read: await numberFrom(
          own,
          `select seq_tup_read + idx_tup_fetch as n from pg_stat_user_tables where relname = 'items'`,
        ),
        entries: await numberFrom(
          own,
          `select sum(idx_tup_read) as n from pg_stat_user_indexes where relname = 'items'`,
        ),
      }))
    })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await connected(this.#server, (client) => client.query(`drop database ${this.#name} with (force)`))
  }
}

async function numberFrom(client: pg.Client, text: string): Promise<number> {
  const { rows } = await client.query<{ n: string }>(text)
  return Number(rows[0]?.n)
}

function byHand(work: (client: pg.Client, of: Case) => Promise<void>): Way {
  return (url, of, timed) => connected(url, (client) => timed(() => work(client, of)))
}

/** A worker is there for days; what it does in its first seconds is not part of an operation. */
const settleMs = 3_000

async function bySluice(url: string, { operation }: Case, timed: Parameters<Way>[2]): Promise<void> {
  await using sluice = new Sluice({ database: url, operations: [operation], worker: { concurrency: 1 } })
  await sluice.start()
  await sleep(settleMs)
  const ended = new Promise<void>((resolve, reject) => {
    sluice.on('operation.finished', () => resolve())
    sluice.on('operation.failed', ({ error }) => reject(new Error(`the operation failed: ${error.message}`)))
  })
  await timed(async () => {
    await sluice.operations.start(operation)
    await ended
  })
}
