import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createDashboard, type Dashboard, type DashboardOptions, type Role } from '../../src/dashboard/index.ts'
import { defineJob, defineMachine, defineOperation, defineSchedule, retryOn, Sluice, sql } from '../../src/index.ts'
import { z } from 'zod'
import { testDatabase, type TestDatabase } from '../support/database.ts'
import { jobProfile } from '../support/jobs.ts'

/** How long each sub-batch takes: quick enough to be waited for, unless a test has to see it at work. */
export const counting = { subBatchMs: 20 }

export const countUp = defineOperation({
  name: 'count-up',
  table: 'counters',
  batchSize: 200,
  subBatchSize: 20,
  perform: async ({ batch }) => {
    await new Promise((resolve) => setTimeout(resolve, counting.subBatchMs))
    return batch.update(sql`n = n + 1`)
  },
})

const deleteDone = defineOperation({
  name: 'delete-done',
  table: 'counters',
  args: z.object({ above: z.number().int(), kind: z.enum(['all', 'done']).optional() }),
  conflicts: 'none',
  scope: ({ args }) => sql`id > ${args.above}`,
  perform: ({ batch }) => batch.delete(),
})

export const charge = defineJob({
  name: 'charge',
  queue: 'billing',
  args: z.object({ card: z.string() }),
  onError: [retryOn(Error, { attempts: 1 })],
  perform: async ({ args }) => {
    if (args.card.startsWith('bad')) throw new Error(`card ${args.card} was declined with code 4711`)
  },
})

export const welcome = defineJob({ name: 'welcome', queue: 'mail', perform: async () => undefined })

const nightly = defineSchedule({ name: 'nightly', cron: '0 3 * * *', job: welcome })

const order = defineMachine({
  name: 'order',
  table: 'orders',
  states: {
    new: { to: ['paid', 'cancelled'], perform: async () => 'paid' },
    paid: { to: ['sent'], perform: async () => 'sent' },
    sent: {},
    cancelled: {},
  },
})

/** A worker and a dashboard on a database of their own. */
export interface DashboardPlace extends AsyncDisposable {
  db: TestDatabase
  sluice: Sluice
  dashboard: Dashboard
  origin: string
  server: Server
}

export const everybody: DashboardOptions['authorize'] = (request) => {
  const role = /role=(\w+)/.exec(request.headers.get('cookie') ?? '')?.[1] ?? request.headers.get('x-role')
  return role === null || role === undefined ? null : { user: `the ${role}`, role: role as Role }
}

export async function dashboardPlace(options: Partial<DashboardOptions> = {}): Promise<DashboardPlace> {
  const db = await testDatabase()
  await db.query('create table counters (id bigint primary key, n int not null default 0)')
  await db.query('insert into counters (id) select generate_series(1, 3000)')
  await db.query(
    "create table orders (id bigint primary key, state text not null default 'new', state_changed_at timestamptz not null default now())",
  )
  await db.query(
    "insert into orders (id, state) select i, (array['new','paid','sent'])[1 + i % 3] from generate_series(1, 90) i",
  )
  await db.query('analyze')
  const sluice = new Sluice({
    ...jobProfile(),
    database: db.workerUrl,
    operations: [countUp, deleteDone],
    jobs: [charge, welcome],
    schedules: [nightly],
    machines: [order],
  })
  const dashboard = createDashboard(sluice, { authorize: everybody, environment: 'test', ...options })
  const server = createServer(dashboard.node)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    db,
    sluice,
    dashboard,
    origin,
    server,
    async [Symbol.asyncDispose]() {
      await dashboard.close()
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
      await sluice.stop()
      await db[Symbol.asyncDispose]()
    },
  }
}

/** What came back; a test says what it expects of it. */
// oxlint-disable-next-line typescript/no-explicit-any -- expectations check it, not the compiler
export type Answered = any

/** Asks as somebody with a role; a body makes it a change. */
export async function ask(
  origin: string,
  path: string,
  {
    role = 'admin',
    body,
    headers = {},
  }: { role?: string | null; body?: unknown; headers?: Record<string, string> } = {},
): Promise<{ status: number; json: Answered }> {
  const who = role === null ? {} : { 'x-role': role }
  const change = { 'content-type': 'application/json', 'x-sluice-intent': 'test' }
  const response = await fetch(`${origin}/api${path}`, {
    headers: { ...who, ...(body === undefined ? {} : change), ...headers },
    ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }),
  })
  return { status: response.status, json: await response.json() }
}
