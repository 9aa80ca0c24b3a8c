import pg from 'pg'
import type { TestDatabase } from '../../support/database.ts'
import type { ObjectStore } from './store.ts'

/** Module text that makes the two sweeps of a worker. Pastes carry their claim themselves, contents cannot. */
export const sweepsText = (storeUrl: string): string => `
const call = async (path, init, fine) => {
  const response = await fetch('${storeUrl}' + path, init)
  await response.arrayBuffer()
  if (!fine.includes(response.status)) throw new Error('the store says ' + response.status)
}
const shape = {
  batch: 50,
  timeout: '1s',
  attempts: 6,
  interval: '200ms',
  breaker: { failures: 5, for: '1s' },
}
const sweeps = [
  defineSweep({
    ...shape,
    name: 'expire-pastes',
    table: 'pastes',
    key: 'short_code',
    due: sql\`expires_at < now()\`,
    order: ['expires_at', 'short_code'],
    claim: {
      columns: { status: 'status', nonce: 'claim_nonce', claimedAt: 'claimed_at', worker: 'claimed_by' },
      from: 'NOT_EXPIRED',
      to: 'DELETION_IN_PROGRESS',
    },
    releases: { table: 'contents', key: 'hash', count: 'ref_count', by: 'content_hash' },
    effect: ({ row, idempotencyKey, signal }) =>
      call('/purge/' + row.short_code, { method: 'POST', headers: { 'idempotency-key': idempotencyKey }, signal }, [204]),
  }),
  defineSweep({
    ...shape,
    name: 'remove-contents',
    table: 'contents',
    key: 'hash',
    due: sql\`ref_count = 0\`,
    claim: 'table',
    version: (row) => String(row.version),
    // 412: another version is there by now, so this one is gone.
    effect: ({ row, version, signal }) =>
      call('/objects/' + row.hash, {
        method: 'DELETE',
        headers: version === undefined ? {} : { 'if-match': version },
        signal,
      }, [204, 412]),
  }),
]`

/**
 * Makes the tables. All pastes but a tenth have expired. Those that share an object expire one after the other, so that
 * objects come to their end all the time.
 */
export async function seed(
  db: TestDatabase,
  store: ObjectStore,
  { pastes, objects }: { pastes: number; objects: number },
): Promise<void> {
  await db.query(`
    create table contents (hash text primary key, ref_count int not null, version bigint not null);
    create index on contents (hash) where ref_count = 0;
    create table pastes (
      short_code   text primary key,
      content_hash text not null,
      status       text not null default 'NOT_EXPIRED',
      expires_at   timestamptz not null,
      claimed_at   timestamptz,
      claimed_by   uuid,
      claim_nonce  uuid
    );
    create index on pastes (expires_at, short_code) where status = 'NOT_EXPIRED';
    create table below_zero (hash text);
    create function watch_count() returns trigger language plpgsql as $$
      begin
        if new.ref_count < 0 then insert into below_zero values (new.hash); end if;
        return new;
      end $$;
    create trigger watch_count before update on contents for each row execute function watch_count();
    grant insert on below_zero to test_worker`)
  const hashes = Array.from({ length: objects }, (_, i) => `h${i}`)
  const versions = hashes.map((hash) => store.upload(hash))
  await db.query(
    `insert into pastes (short_code, content_hash, expires_at)
     select 'p' || lpad(i::text, 7, '0'), 'h' || i * $2::bigint / ($1 + 1),
       case when hashint4(i) % 10 = 0 then now() + interval '1 day' else now() - interval '1 hour' end
     from generate_series(1, $1::int) i`,
    [pastes, objects],
  )
  await db.query(
    `insert into contents (hash, ref_count, version)
     select v.hash, (select count(*) from pastes p where p.content_hash = v.hash), v.version
     from unnest($1::text[], $2::bigint[]) v(hash, version)`,
    [hashes, versions],
  )
  await db.query('analyze')
}

/** The application, which goes on making pastes of content that is known, also of such as is being removed. */
export class Application {
  readonly #pool: pg.Pool
  readonly #store: ObjectStore
  #made = 0
  /** Objects that were uploaded again while a sweep had claimed the old one. */
  recreated = 0
  reused = 0

  constructor(url: string, store: ObjectStore) {
    this.#pool = new pg.Pool({ connectionString: url, max: 4 })
    this.#pool.on('error', () => undefined)
    this.#store = store
  }

  /** Makes a paste of content that a sweep has claimed, if there is any; else of content in use, or of new content. */
  async make(): Promise<void> {
    const claimed = await this.#oneOf(`select key[1] as hash from sluice.sweep_claim where sweep = 'remove-contents'`)
    if (claimed !== undefined) return this.#paste(claimed, Math.random() < 0.5 ? '1 day' : '300 milliseconds')
    const used = Math.random() < 0.1 ? await this.#oneOf('select hash from contents where ref_count > 0') : undefined
    if (used !== undefined) return this.#paste(used, '1 day')
    // It is soon of no use to anybody, and claimed.
    await this.#paste(`x${this.#made}`, '100 milliseconds')
  }

  async #oneOf(query: string): Promise<string | undefined> {
    const { rows } = await this.#pool.query(`${query} limit 50`)
    return rows[Math.floor(Math.random() * rows.length)]?.hash
  }

  /** Whoever uploads an object under a name that stays the same holds the lock of its content until he has said so. */
  async #paste(hash: string, lives: string): Promise<void> {
    const client = await this.#pool.connect()
    this.#made += 1
    try {
      await client.query('begin')
      await client.query('select pg_advisory_xact_lock(hashtext($1))', [hash])
      const { rows } = await client.query('select ref_count from contents where hash = $1 for update', [hash])
      const claims = await client.query(
        `select 1 from sluice.sweep_claim where sweep = 'remove-contents' and key = array[$1]`,
        [hash],
      )
      if (rows[0]?.ref_count > 0) {
        await client.query('update contents set ref_count = ref_count + 1 where hash = $1', [hash])
        this.reused += 1
      } else {
        await client.query(
          `insert into contents (hash, ref_count, version) values ($1, 1, $2)
           on conflict (hash) do update set ref_count = contents.ref_count + 1, version = excluded.version`,
          [hash, this.#store.upload(hash)],
        )
        if (claims.rows.length > 0) this.recreated += 1
      }
      await client.query(
        `insert into pastes (short_code, content_hash, expires_at) values ($1, $2, now() + $3::interval)`,
        [`n${this.#made}`, hash, lives],
      )
      await client.query('commit')
    } catch (error) {
      await client.query('rollback')
      throw error
    } finally {
      client.release()
    }
  }

  async end(): Promise<void> {
    await this.#pool.end()
  }
}
