import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createDashboard, serveDashboard } from '../../src/dashboard/index.ts'
import { defineJob, defineOperation, defineSchedule, Sluice, sql } from '../../src/index.ts'
import { testDatabase } from '../support/database.ts'
import { ask, dashboardPlace, everybody, type DashboardPlace } from './place.ts'

describe('the address of a start', () => {
  let place: DashboardPlace

  beforeAll(async () => {
    place = await dashboardPlace()
  })

  afterAll(async () => {
    await place[Symbol.asyncDispose]()
  })

  test('opens one session: whoever finds it later is let in nowhere', async () => {
    await using served = await serveDashboard(place.sluice, { port: 0 })
    const { origin } = new URL(served.url)
    const first = await fetch(served.url)
    const cookie = first.headers.get('set-cookie')?.split(';')[0] ?? ''
    const again = await fetch(served.url)
    expect({ status: again.status, cookie: again.headers.get('set-cookie') }).toEqual({ status: 401, cookie: null })
    expect(await again.text()).toContain('start the server again')
    expect((await fetch(`${origin}/api/session`, { headers: { cookie } })).status).toBe(200)
  })

  test('can be reloaded by the browser that it has let in', async () => {
    await using served = await serveDashboard(place.sluice, { port: 0 })
    const cookie = (await fetch(served.url)).headers.get('set-cookie')?.split(';')[0] ?? ''
    const reloaded = await fetch(served.url, { headers: { cookie } })
    expect(reloaded.status).toBe(200)
    expect(reloaded.headers.get('set-cookie')).toBeNull()
    expect(await reloaded.text()).toContain('http-equiv="refresh"')
  })

  test('is not used up by a wrong token, or by a look at its head', async () => {
    await using served = await serveDashboard(place.sluice, { port: 0 })
    expect((await fetch(`${served.url}x`)).status).toBe(401)
    expect((await fetch(served.url, { method: 'HEAD' })).status).toBe(401)
    expect((await fetch(served.url)).headers.get('set-cookie')).toContain('HttpOnly')
  })
})

describe('roles', () => {
  test('a plan shows rows of a table to an admin only', async () => {
    await using db = await testDatabase()
    await db.query('create table people (id bigint primary key, email text not null)')
    await db.query(`insert into people select i, 'person-' || i || '@example.com' from generate_series(1, 100) i`)
    await db.query('grant select, update, delete on people to public')
    const forget = defineOperation({
      name: 'forget',
      table: 'people',
      conflicts: 'none',
      perform: ({ batch }) => batch.delete(),
    })
    const refuse = defineOperation({
      name: 'refuse',
      table: 'people',
      conflicts: 'none',
      perform: ({ batch }) => batch.update(sql`email = (email || '!')::integer::text`),
    })
    await using served = await serve(new Sluice({ database: db.workerUrl, operations: [forget, refuse] }))
    for (const name of ['forget', 'refuse']) {
      const [operator, admin] = await Promise.all(
        ['operator', 'admin'].map((role) => ask(served.origin, '/plan', { role, body: { name } })),
      )
      expect(operator?.status).toBe(200)
      expect(operator?.json.plan.dryRun).toMatchObject({ outcome: 'left out', run: null })
      expect(JSON.stringify(operator?.json)).not.toContain('@example.com')
      expect(JSON.stringify(admin?.json)).toContain('person-1@example.com')
    }
    expect((await ask(served.origin, '/plan', { role: 'viewer', body: { name: 'forget' } })).status).toBe(403)
  })

  test('a schedule is run by whoever may start what it starts', async () => {
    await using db = await testDatabase()
    await db.query('create table counters (id bigint primary key, n int not null default 0)')
    const count = defineOperation({
      name: 'count',
      table: 'counters',
      perform: ({ batch }) => batch.update(sql`n = n + 1`),
    })
    const mail = defineJob({ name: 'mail', perform: () => undefined })
    const cron = '0 3 * * *'
    const schedules = [
      defineSchedule({ name: 'nightly-count', cron, operation: count }),
      defineSchedule({ name: 'nightly-mail', cron, job: mail }),
    ]
    await using served = await serve(
      new Sluice({ database: db.workerUrl, operations: [count], jobs: [mail], schedules }),
    )
    const run = (name: string, role: string) => ask(served.origin, `/schedules/${name}/run`, { role, body: {} })
    expect(await run('nightly-count', 'operator')).toMatchObject({ status: 403, json: { error: { code: 'ROLE' } } })
    expect(await db.value('select count(*)::int from sluice.operation')).toBe(0)
    expect((await run('nightly-mail', 'operator')).status).toBe(200)
    expect((await run('nightly-count', 'admin')).status).toBe(200)
    expect((await run('nightly-none', 'admin')).status).toBe(404)
  })
})

async function serve(sluice: Sluice): Promise<{ origin: string } & AsyncDisposable> {
  const dashboard = createDashboard(sluice, { authorize: everybody, environment: 'test' })
  const server = createServer(dashboard.node)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      await dashboard.close()
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
      await sluice.stop()
    },
  }
}
