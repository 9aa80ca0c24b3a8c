import { contract, type Route } from '../../src/dashboard/contract.ts'
import { createDashboard } from '../../src/dashboard/index.ts'
import { Sluice } from '../../src/index.ts'
import { connected, inDatabase } from '../database.ts'
import { aligned } from '../report.ts'

/** How much is in the database, and how long viewers look. */
export interface DashboardSizes {
  history: number
  queued: number
  failed: number
  operations: number
  calls: number
  viewers: number
  lookMs: number
}

export const fullDashboard: DashboardSizes = {
  history: 1_000_000,
  queued: 100_000,
  failed: 20_000,
  operations: 200,
  calls: 40,
  viewers: 10,
  lookMs: 60_000,
}

/** What was measured. */
export interface DashboardMeasured {
  routes: { route: string; p50Ms: number; p95Ms: number; bytes: number }[]
  /** Time that the database was busy with ten viewers, per minute. */
  busyMsPerMinute: number
}

const fill = `
  select sluice.create_job_partitions(2);
  select sluice.create_history_partitions(2);
  -- What is filled in ended hours ago: yesterday, or last week, in the first hours of a day.
  select sluice.create_partition(parent, (now() at time zone 'UTC')::date - 1, 1) from unnest(array['job_history', 'job_dead']) parent;
  select sluice.create_partition('operation_history', date_trunc('week', now() at time zone 'UTC') - interval '1 week', 7);
  insert into sluice.job_class (name) select 'class-' || i from generate_series(1, 20) i;
  insert into sluice.queue (name) select 'queue-' || i from generate_series(1, 8) i;`

const rows = {
  history: `insert into sluice.job_history (id, claim_id, enqueued_at, finished_at, class_id, queue_id, wait_ms, run_ms, attempt)
    select i, i / 100, now() - (1000000 - i) * interval '20 milliseconds', now() - (1000000 - i) * interval '20 milliseconds',
      (select min(id) from sluice.job_class) + i % 20, (select min(id) from sluice.queue) + i % 8, i % 900, i % 300, 1
    from generate_series(1, $1::int) i`,
  queued: `insert into sluice.job (class_id, queue_id, priority, state, run_at, args)
    select (select min(id) from sluice.job_class) + i % 20, (select min(id) from sluice.queue) + i % 8, 1, 0, now(),
      jsonb_build_object('user', i)
    from generate_series(1, $1::int) i`,
  failed: `insert into sluice.job_dead (id, enqueued_at, finished_at, class_id, queue_id, priority, attempt, crashes, outcome, reason, error, args)
    select 2000000 + i, now(), now() - i * interval '1 second', (select min(id) from sluice.job_class) + i % 20,
      (select min(id) from sluice.queue) + i % 8, 1, 3, 0, 'dead', 'failed 3 of 3 times',
      jsonb_build_object('name', 'Error', 'message', 'order ' || i || ' was refused by host ' || i % 7, 'stack', repeat('at x ', 200)), '{}'
    from generate_series(1, $1::int) i`,
  operations: `insert into sluice.operation_history (id, name, args, status, table_name, rows_estimate, rows_seen, rows_changed, rows_matched,
      rows_quarantined, sub_batches, busy_ms, batches_finished, created_at, started_at, finished_at)
    select gen_random_uuid(), 'operation-' || i % 9, '{}', 'finished', 'public.events', 1000000, 1000000, 500000, 500000, 0, 1000, 60000, 200,
      now() - interval '1 hour', now() - interval '1 hour', now() - i * interval '1 second'
    from generate_series(1, $1::int) i`,
} as const

/** Fills a database as large as asked for, and looks at it as people do. */
export async function measureDashboard(
  { url: server, sizes }: { url: string; sizes: DashboardSizes },
  say: (line: string) => void,
): Promise<DashboardMeasured> {
  await connected(server, (client) => client.query('create database sluice_dashboard'))
  const url = inDatabase(server, 'sluice_dashboard')
  await using sluice = new Sluice({ database: url })
  await sluice.migrate()
  await connected(url, async (client) => {
    await client.query(fill)
    for (const name of Object.keys(rows) as (keyof typeof rows)[]) await client.query(rows[name], [sizes[name]])
    await client.query('vacuum analyze')
  })
  say('filled')
  await using dashboard = createDashboard(sluice, {
    authorize: (request) => ({ user: request.headers.get('x-user') ?? 'ann', role: 'admin' }),
  })
  const ask = (path: string, user = 'ann'): Promise<Response> =>
    dashboard.fetch(new Request(`http://localhost/api${path}`, { headers: { host: 'localhost', 'x-user': user } }))
  const routes: DashboardMeasured['routes'] = []
  for (const path of await pathsOf(sluice)) {
    const times: number[] = []
    let bytes = 0
    for (let call = 0; call <= sizes.calls; call++) {
      const began = performance.now()
      const answer = await ask(path, `user ${call % 10} of ${path}`)
      bytes = (await answer.text()).length
      if (answer.status !== 200) throw new Error(`${path} answered ${answer.status}`)
      // The first one opens connections.
      if (call > 0) times.push(performance.now() - began)
    }
    times.sort((a, b) => a - b)
    const at = (share: number): number => Math.round(10 * (times[Math.floor(share * (times.length - 1))] ?? 0)) / 10
    routes.push({ route: path.replace(/[0-9a-f-]{36}/, ':id'), p50Ms: at(0.5), p95Ms: at(0.95), bytes })
    say(`${path}: p95 ${at(0.95)} ms`)
  }
  const busyMsPerMinute = await watched(url, sizes, ask)
  return { routes, busyMsPerMinute }
}

/** Routes about one thing that is not there: a batch of jobs, and an operation whose definition is known here. */
const without = ['/batches/:id', '/operations/:id/plan']

/** Every other route that reads, with the ids that are there. */
async function pathsOf(sluice: Sluice): Promise<string[]> {
  const [operation] = await sluice.operations.list({ limit: 1 })
  const [job] = (await sluice.jobs.list({ limit: 1 })).jobs
  const gets = Object.values(contract as Record<string, Route>).filter(
    ({ method, path }) => method === 'GET' && !without.includes(path),
  )
  const paths = gets.map(({ path }) =>
    path.replace(':id', path.startsWith('/jobs') ? String(job?.id) : String(operation?.id)),
  )
  return [
    ...paths,
    '/jobs?states=dead',
    '/jobs?states=succeeded&within=7d',
    '/jobs?name=class-3&queue=queue-2',
    '/jobs?states=dead&name=nobody',
  ]
}

/** How long the database was busy while so many people looked at different pages. */
async function watched(
  url: string,
  sizes: DashboardSizes,
  ask: (path: string, user: string) => Promise<Response>,
): Promise<number> {
  const pages = [
    '/operations',
    '/jobs',
    '/queues',
    '/failed',
    '/workers',
    '/samples/queues',
    '/schedules',
    '/health',
    '/audit',
    '/jobs?states=dead',
  ]
  const active = `select active_time::float8 as ms from pg_stat_database where datname = current_database()`
  const busy = (): Promise<number> =>
    connected(url, async (client) => (await client.query<{ ms: number }>(active)).rows[0]?.ms ?? 0)
  const before = await busy()
  const readers = Array.from({ length: sizes.viewers }, async (_, n) => {
    const answer = await ask(`/stream?watch=${encodeURIComponent(pages[n % pages.length] ?? '')}`, `viewer ${n}`)
    const reader = answer.body?.getReader()
    const over = setTimeout(() => void reader?.cancel(), sizes.lookMs)
    for (let done = reader === undefined; !done;) done = (await reader?.read())?.done ?? true
    clearTimeout(over)
  })
  await Promise.all(readers)
  // Sessions tell what they did a little later.
  await new Promise((resolve) => setTimeout(resolve, 1_500))
  return Math.round(((await busy()) - before) * (60_000 / sizes.lookMs))
}

const n = (value: number): string => value.toLocaleString('en-US')

/** The report, as Markdown. */
export function dashboardReport(
  { routes, busyMsPerMinute }: DashboardMeasured,
  about: { conditions: string[]; command: string; sizes: DashboardSizes },
): string {
  const { sizes } = about
  const facts = [
    `${n(sizes.history)} jobs in history, ${n(sizes.queued)} queued, ${n(sizes.failed)} failed, ${n(sizes.operations)} operations`,
    `${sizes.viewers} viewers on ${sizes.viewers} different pages: the database was busy for ${n(busyMsPerMinute)} ms per minute`,
  ]
  const lines = [...about.conditions, ...facts, `\`${about.command}\``].map((line) => `- ${line}`)
  const table = aligned([
    ['route', 'p50 ms', 'p95 ms', 'bytes'],
    ...routes.map(({ route, p50Ms, p95Ms, bytes }) => [route, String(p50Ms), String(p95Ms), n(bytes)]),
  ])
  return ['## dashboard: every route that reads', '', ...lines, '', ...table, ''].join('\n')
}
