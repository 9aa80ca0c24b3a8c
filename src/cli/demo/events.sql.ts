import { Client } from 'pg'

/** What is in the demo's table, counted by SQL and not by Sluice. */
export interface Census {
  aged: number
  fresh: number
  /** Equal for equal sets of fresh ids. */
  freshIds: string
}

/** Ages lie a day or more from the limit, so that the minutes of a slow demo cannot move a row across it. */
const create = `
  create table events (
    id bigint generated always as identity primary key,
    created_at timestamptz not null,
    kind text not null,
    payload text not null
  );
  create index events_created_at on events (created_at);`

const fill = `
  insert into events (created_at, kind, payload)
  select
    now() - interval '1 day' * case when i * 7 % 10 < 6 then 91 + i % 300 else i % 89 end,
    (array['login', 'purchase', 'page view'])[1 + i % 3],
    repeat(md5(i::text), 3)
  from generate_series(1::bigint, $1::bigint) i`

const census = `
  select
    count(*) filter (where aged)::int as aged,
    count(*) filter (where not aged)::int as fresh,
    coalesce(md5(string_agg(id::text, ',' order by id) filter (where not aged)), '') as "freshIds"
  from (select id, created_at < now() - interval '90 days' as aged from events) e`

/** The application's part of the demo: it owns the table, and looks for itself whether the right rows are gone. */
export class EventsTable implements AsyncDisposable {
  readonly #client: Client

  private constructor(client: Client) {
    this.#client = client
  }

  static async connect(url: string): Promise<EventsTable> {
    const client = new Client({ connectionString: url, application_name: 'demo application' })
    // The server is stopped at the end, with this connection open if something went wrong before.
    client.on('error', () => undefined)
    await client.connect()
    return new EventsTable(client)
  }

  async create(rows: number): Promise<void> {
    await this.#client.query(create)
    await this.#client.query(fill, [rows])
    await this.#client.query('analyze events')
  }

  async count(): Promise<Census> {
    const { rows } = await this.#client.query<Census>(census)
    const [found] = rows
    if (found === undefined) throw new Error('the census of the demo table gave no row')
    return found
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#client.end()
  }
}
