import { defineJob, type JobDefinition } from '../../../src/index.ts'

/** What one job of the mix is enqueued with. `n` is a number that no other enqueueing ever uses. */
export interface MixArgs {
  n: number
  key: string
}

/**
 * The kinds of jobs. `effect` says what one leaves behind:
 * - `run`: a row for each run, written beside any transaction, so at least one.
 * - `count`: one more in the counter `n`, in the job's transaction, so exactly one.
 * - `span`: begin and end of the work, in the job's transaction as well. A limit holds for claims, and what a claim
 *   does counts when it commits: a handler whose claim was taken away is a zombie that may still run for a while, but
 *   its row never appears. So overlaps are judged by these rows, and by the claims themselves while they last.
 */
export const mix = {
  note: { share: 30, effect: 'run' },
  count: { share: 20, effect: 'count' },
  stumble: { share: 15, effect: 'count' },
  'limit-1': { share: 10, effect: 'span', limit: 1, keys: 15 },
  'limit-3': { share: 10, effect: 'span', limit: 3, keys: 5 },
  'until-start': { share: 8, effect: 'run', unique: 'start', keys: 12 },
  'until-success': { share: 7, effect: 'count', unique: 'success', keys: 12 },
} as const satisfies Record<string, Kind>

interface Kind {
  share: number
  effect: 'run' | 'count' | 'span'
  limit?: number
  unique?: 'start' | 'success'
  /** How many different keys there are. */
  keys?: number
}

export type KindName = keyof typeof mix

export const kinds: [KindName, Kind][] = Object.entries(mix) as [KindName, Kind][]

/** Tables in which the jobs leave what they did. */
export const tables = `
  create table run (job_id bigint not null);
  create table counter (n bigint primary key, times int not null);
  create table span (job_id bigint not null, key text not null, began timestamptz not null, ended timestamptz not null);
`

const anything = `{ '~standard': { version: 1, vendor: 'torture', validate: (value) => ({ value }) } }`

/** A connection that breaks under a handler fails the attempt; that may happen often here. */
const retry = `{ attempts: 200, wait: '150ms' }`

/** The jobs as the text of a worker's configuration. */
export function jobsText({ pauseMs }: { pauseMs: number }): string {
  return `
import pg from '${import.meta.resolve('pg')}'
const pool = new pg.Pool({ connectionString: process.env.SLUICE_DATABASE_URL, max: 3, connectionTimeoutMillis: 3_000 })
pool.on('error', () => undefined)
const pause = () => new Promise((resolve) => setTimeout(resolve, ${pauseMs} * (0.5 + Math.random())))
const effects = {
  async run({ job }) {
    await pause()
    await pool.query('insert into run values ($1)', [job.id])
  },
  async count({ args, tx }) {
    await tx.query('insert into counter as c values ($1, 1) on conflict (n) do update set times = c.times + 1', [args.n])
    await pause()
  },
  async span({ args, job, tx }) {
    const { rows: [{ began }] } = await tx.query('select clock_timestamp()::text as began', [])
    await pause()
    await tx.query('insert into span values ($1, $2, $3, clock_timestamp())', [job.id, args.key, began])
  },
}
const jobs = ${JSON.stringify(kinds)}.map(([name, { effect, limit, unique }]) => defineJob({
  name,
  args: ${anything},
  retry: ${retry},
  transaction: effect !== 'run',
  ...(unique === undefined ? {} : { unique: { until: unique, key: ({ key }) => key } }),
  ...(limit === undefined ? {} : { concurrency: { limit, key: ({ key }) => key } }),
  async perform(context) {
    await effects[effect](context)
    if (name === 'stumble' && context.job.attempt <= 2) throw new Error('stumbled')
  },
}))`
}

const args = {
  '~standard': { version: 1, vendor: 'torture', validate: (value: unknown) => ({ value: value as MixArgs }) },
} as const

/** The same jobs for the one who enqueues them and runs none. */
export const definitions = Object.fromEntries(
  kinds.map(([name, { effect, limit, unique }]) => [
    name,
    defineJob({
      name,
      args,
      ...(unique === undefined ? {} : { unique: { until: unique, key: ({ key }: MixArgs) => key } }),
      ...(limit === undefined ? {} : { concurrency: { limit, key: ({ key }: MixArgs) => key } }),
      ...(effect === 'run' ? { transaction: false } : { transaction: true }),
      perform: () => undefined,
    } as never),
  ]),
) as unknown as Record<KindName, JobDefinition<MixArgs>>
