import { randomBytes } from 'node:crypto'
import type pg from 'pg'
import { Sluice } from '../../src/index.ts'
import { connected, inDatabase } from '../database.ts'
import type { Run } from '../harness.ts'

/** What the work is, and how the table looks before it. */
export interface Case {
  rows: number
  /** Where the aged rows lie: in the first half of the table, as time put them, or in every page. */
  aged: 'oldest' | 'scattered'
  /** Delete the aged rows (default), or set a column of all of them. */
  work?: 'delete' | 'backfill'
  /** How full pages are, in percent. Default: 100. */
  fillfactor?: number
}

/** Does the work on one copy of the table; what is given to `timed` is measured. */
export type Work = (url: string, timed: (work: () => Promise<unknown>) => Promise<void>) => Promise<void>

/** Ages lie a day or more from the limit, so that no row crosses it during a long benchmark. */
const create = (fillfactor: number): string => `
  create extension pg_prewarm;
  create table events (
    id bigint generated always as identity primary key,
    account_id int not null,
    created_at timestamptz not null,
    kind text not null,
    payload text not null,
    checked boolean
  ) with (fillfactor = ${fillfactor});
  create table accounts (id int primary key, balance bigint not null) with (fillfactor = 50);
  insert into accounts select i, 0 from generate_series(0, 9999) i;`

const fill = `
  insert into events (account_id, created_at, kind, payload)
  select i * 7919 % 10007, now() - interval '1 day' * age, 'purchase', repeat(md5(i::text), 4)
  from generate_series(0::bigint, $1::bigint - 1) i,
  lateral (select case
    when $2 = 'scattered' then case when i % 2 = 1 then 91 + i * 7919 % 300 else i * 7919 % 79 end
    when i < $1 / 2 then 391 - 300.0 * i / $1
    else 79 - 79.0 * i / $1
  end as age) a`

/** Made behind the rows, as that is many times faster. */
const index = `
  create index events_created_at on events (created_at);
  create index events_account_id on events (account_id);`

/** A scan of a table of that size goes around the memory of the server, and leaves nothing there. */
const warm = `select pg_prewarm(c.oid) from pg_class c where c.relname ~ '^events'`

/** Rows that the work is about are those in `meant`; the sum is equal for equal sets of the others. */
const census = {
  delete: `
    select count(*) filter (where meant)::int as left, count(*) filter (where not meant)::int as others,
      coalesce(sum(hashint8extended(id, 0)) filter (where not meant), 0)::text as which
    from (select id, created_at < now() - interval '90 days' as meant from events) e`,
  backfill: `
    select count(*) filter (where checked is distinct from true)::int as left, count(*)::int as others,
      coalesce(sum(hashint8extended(id, 0)), 0)::text as which
    from events`,
}

interface Census {
  left: number
  others: number
  which: string
}

/** A filled table in a database of its own, of which each run gets a copy, page for page the same. */
export class EventsTable implements AsyncDisposable {
  readonly #server: string
  readonly #template: string
  readonly #case: Case
  readonly #before: Census

  private constructor(server: string, template: string, at: { case: Case; before: Census }) {
    this.#server = server
    this.#template = template
    this.#case = at.case
    this.#before = at.before
  }

  /** Rows that the work has to change. */
  get rows(): number {
    return this.#before.left
  }

  static async create(server: string, what: Case): Promise<EventsTable> {
    const template = `bench_${randomBytes(6).toString('hex')}`
    await connected(server, (client) => client.query(`create database ${template}`))
    const url = inDatabase(server, template)
    await using sluice = new Sluice({ database: url })
    await sluice.migrate()
    const before = await connected(url, async (client) => {
      await client.query(create(what.fillfactor ?? 100))
      await client.query(fill, [what.rows, what.aged])
      await client.query(index)
      await client.query('vacuum (analyze, freeze) events')
      return count(client, what)
    })
    return new EventsTable(server, template, { case: what, before })
  }

  /** A fresh copy; the same start for everyone: statistics there, nothing dirty, the table in memory. */
  async copy(): Promise<AsyncDisposable & { url: string }> {
    const name = `${this.#template}_copy`
    await connected(this.#server, (client) => copyDatabase(client, this.#template, name))
    const url = inDatabase(this.#server, name)
    await connected(url, async (client) => {
      await client.query('vacuum (analyze) events')
      await client.query(warm)
      await client.query('checkpoint')
    })
    const drop = async (): Promise<void> => {
      await connected(this.#server, (client) => client.query(`drop database ${name} with (force)`))
    }
    return { url, [Symbol.asyncDispose]: drop }
  }

  /** Runs the work on a fresh copy, and verifies what it did. */
  async measure(work: Work): Promise<Run> {
    await using copy = await this.copy()
    let ms = 0
    await work(copy.url, async (timed) => {
      const began = performance.now()
      await timed()
      ms += performance.now() - began
    })
    await this.verify(copy.url)
    return { rows: this.rows, ms }
  }

  /** Throws unless exactly the rows that were meant have changed. */
  async verify(url: string): Promise<void> {
    const { left, others, which } = await connected(url, (client) => count(client, this.#case))
    if (left === 0 && others === this.#before.others && which === this.#before.which) return
    throw new Error(`wrong rows: ${left} that were meant are left, and ${others} of ${this.#before.others} others`)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await connected(this.#server, (client) => client.query(`drop database ${this.#template} with (force)`))
  }
}

/** Copied as files: through the log, as PostgreSQL does it from 15 on unless told, it takes several times as long. */
async function copyDatabase(client: pg.Client, from: string, to: string): Promise<void> {
  const { rows } = await client.query<{ old: boolean }>(
    `select current_setting('server_version_num')::int < 150000 as old`,
  )
  await client.query(`create database ${to} template ${from} ${rows[0]?.old === true ? '' : 'strategy file_copy'}`)
}

async function count(client: pg.Client, { work = 'delete' }: Case): Promise<Census> {
  const { rows } = await client.query<Census>(census[work])
  const [found] = rows
  if (found === undefined) throw new Error('the census gave no row')
  return found
}
