import pg from 'pg'
import type { JobSystem } from '../job-system.ts'

/** What enqueueing costs at least when each call commits by itself: no queue, only its insert. */
export function openInsert(url: string, options: Record<string, unknown>): JobSystem {
  const pool = new pg.Pool({ connectionString: url, max: 16 })
  const listener = new pg.Client({ connectionString: url })
  const insert = 'insert into plain_job (kind, args) values ($1, $2)'
  const text = options['notify'] === true ? `${insert} returning pg_notify('plain_job', '')` : insert
  return {
    hotTables: ['plain_job'],
    prepare: async () => {
      await pool.query(`create table plain_job (
        id bigint generated always as identity primary key,
        kind text not null,
        args jsonb not null,
        created_at timestamptz not null default now()
      )`)
      await listener.connect()
      await listener.query('listen plain_job')
    },
    enqueueOne: () => pool.query({ name: 'insert', text, values: ['noop', '{}'] }),
    enqueueBulk: none,
    startWorker: none,
    left: none,
    close: async () => {
      await listener.end()
      await pool.end()
    },
  }
}

function none(): never {
  throw new Error('plain inserts know neither bulk nor workers')
}
