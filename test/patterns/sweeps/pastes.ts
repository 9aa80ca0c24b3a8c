import {
  defineSweep,
  Sluice,
  sql,
  type SluiceConfig,
  type SweepDefinition,
  type SweepSpec,
} from '../../../src/index.ts'
import { testDatabase, type TestDatabase } from '../../support/database.ts'
import { EventLog } from '../../support/events.ts'
import { testProfile } from '../../support/worker.ts'

export interface Paste {
  short_code: string
  content_id: number | null
  status: string
  expires_at: Date
  claimed_at: Date | null
  claimed_by: string | null
  claim_nonce: string | null
}

export const ownColumns: SweepSpec<Paste>['claim'] = {
  columns: { status: 'status', nonce: 'claim_nonce', claimedAt: 'claimed_at', worker: 'claimed_by' },
  from: 'NOT_EXPIRED',
  to: 'DELETION_IN_PROGRESS',
}

export const expirePastes = (more: Partial<SweepSpec<Paste>> = {}): SweepDefinition =>
  defineSweep<Paste>({
    name: 'expire-pastes',
    table: 'pastes',
    key: 'short_code',
    due: sql`expires_at < now()`,
    order: ['expires_at', 'short_code'],
    claim: ownColumns,
    interval: '100ms',
    ...more,
  })

/** A database with expired pastes p1 … pn, each with a reference to content 1, and one paste that is alive. */
export async function pastes(expired: number): Promise<TestDatabase> {
  const db = await testDatabase()
  await db.query(`
    create type paste_status as enum ('NOT_EXPIRED', 'DELETION_IN_PROGRESS', 'EXPIRED');
    create table contents (id int primary key, ref_count int not null, version text not null default 'v1');
    create table pastes (
      short_code  text primary key,
      content_id  int references contents,
      status      paste_status not null default 'NOT_EXPIRED',
      expires_at  timestamptz not null,
      claimed_at  timestamptz,
      claimed_by  text,
      claim_nonce uuid
    );
    create index on pastes (expires_at, short_code) where status = 'NOT_EXPIRED'`)
  await db.query('insert into contents (id, ref_count) values (1, $1::int + 1)', [expired])
  await db.query(
    `insert into pastes (short_code, content_id, expires_at)
     select 'p' || i, 1, now() - interval '1 hour' + i * interval '1 second' from generate_series(1, $1::int) i
     union all select 'alive', 1, now() + interval '1 day'`,
    [expired],
  )
  return db
}

/** A worker in this process, to be started, and all that it says. */
export function sweeping(
  db: TestDatabase,
  sweeps: SweepDefinition[],
  config: SluiceConfig = {},
): { sluice: Sluice; events: EventLog } & AsyncDisposable {
  const sluice = new Sluice({ ...testProfile, database: db.workerUrl, sweeps, ...config })
  const events = new EventLog()
  sluice.onAny((event) => events.push(event))
  return { sluice, events, [Symbol.asyncDispose]: () => sluice.stop() }
}

/** A gate that effects wait at. */
export function gate(): { open: () => void; passed: Promise<void> } {
  const opened = new AbortController()
  const passed = new Promise<void>((resolve) => opened.signal.addEventListener('abort', () => resolve()))
  return { open: () => opened.abort(), passed }
}
