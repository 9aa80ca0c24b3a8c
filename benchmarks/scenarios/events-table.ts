import { randomBytes } from 'node:crypto'
import pg from 'pg'
import { Sluice } from '../../src/index.ts'
import type { Run } from '../harness.ts'

/** Where the aged rows lie: in the first half of the table, as time put them, or in every page. */
export type Aged = 'oldest' | 'scattered'

/** Does the work on one copy of the table; what is given to `timed` is measured. */
export type Work = (url: string, timed: (work: () => Promise<unknown>) => Promise<void>) => Promise<void>

/** Ages lie a day or more from the limit, so that no row crosses it during a long benchmark. */
const create = `
  create table events (
    id bigint generated always as identity primary key,
    account_id int not null,
    created_at timestamptz not null,
    kind text not null,
    payload text not null
  );
  create index events_created_at on events (created_at);
  create index events_account_id on events (account_id);`

const fill = `
  insert into events (account_id, created_at, kind, payload)
  select i * 7919 % 10007, now() - interval '1 day' * age, 'purchase', repeat(md5(i::text), 4)
  from generate_series(0::bigint, $1::bigint - 1) i,
  lateral (select case
    when $2 = 'scattered' then case when i % 2 = 1 then 91 + i * 7919 % 300 else i * 7919 % 89 end
    when i < $1 / 2 then 391 - 300.0 * i / $1
    else 89 - 89.0 * i / $1
  end as age) a`

const census = `
  select
    count(*) filter (where aged)::int as aged,
    count(*) filter (where not aged)::int as fresh,
    coalesce(sum(hashint8extended(id, 0)) filter (where not aged), 0)::text as "freshIds"
  from (select id, created_at < now() - interval '90 days' as aged from events) e`

interface Census {
  aged: number
  fresh: number
  /** Equal for equal sets of fresh ids. */
  freshIds: string
}

/** A filled table in a database of its own, of which each run gets a copy, page for page the same. */
export class EventsTable implements AsyncDisposable {
  readonly #server: string
  readonly #template: string
  readonly #before: Census

  private constructor(server: string, template: string, before: Census) {
    this.#server = server
    this.#template = template
    this.#before = before
  }

  static async create(server: string, { rows, aged }: { rows: number; aged: Aged }): Promise<EventsTable> {
    const template = `bench_${randomBytes(6).toString('hex')}`
    await connected(server, (client) => client.query(`create database ${template}`))
    const url = inDatabase(server, template)
    await using sluice = new Sluice({ database: url })
    await sluice.migrate()
    const before = await connected(url, async (client) => {
      await client.query(create)
      await client.query(fill, [rows, aged])
      await client.query('vacuum (analyze, freeze) events')
      return count(client)
    })
    return new EventsTable(server, template, before)
  }

  /** Runs the work on a fresh copy. Throws unless exactly the aged rows are gone afterwards. */
  async measure(work: Work): Promise<Run> {
    const copy = `${this.#template}_copy`
    const url = inDatabase(this.#server, copy)
    await connected(this.#server, (client) => client.query(`create database ${copy} template ${this.#template}`))
    try {
      await connected(url, settle)
      let ms = 0
      await work(url, async (timed) => {
        const began = performance.now()
        await timed()
        ms += performance.now() - began
      })
      this.#verify(await connected(url, count))
      return { rows: this.#before.aged, ms }
    } finally {
      await connected(this.#server, (client) => client.query(`drop database ${copy} with (force)`))
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await connected(this.#server, (client) => client.query(`drop database ${this.#template} with (force)`))
  }

  #verify({ aged, fresh, freshIds }: Census): void {
    const { fresh: wanted, freshIds: wantedIds } = this.#before
    if (aged === 0 && fresh === wanted && freshIds === wantedIds) return
    throw new Error(`the wrong rows are gone: ${aged} aged ones are left, and ${fresh} of ${wanted} fresh ones`)
  }
}

/** The same start for everyone: statistics there, nothing dirty, the table in memory. */
async function settle(client: pg.Client): Promise<void> {
  await client.query('vacuum (analyze) events')
  await count(client)
  await client.query('checkpoint')
}

async function count(client: pg.Client): Promise<Census> {
  const { rows } = await client.query<Census>(census)
  const [found] = rows
  if (found === undefined) throw new Error('the census gave no row')
  return found
}

/** Runs `use` on a connection of its own. */
export async function connected<T>(url: string, use: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return await use(client)
  } finally {
    await client.end()
  }
}

/** The same server, another database. */
export function inDatabase(server: string, name: string): string {
  const url = new URL(server)
  url.pathname = `/${name}`
  return url.href
}
