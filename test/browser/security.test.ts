import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { contract, type Route } from '../../src/dashboard/contract.ts'
import { createDashboard, serveDashboard } from '../../src/dashboard/index.ts'
import { includes, roles } from '../../src/dashboard/roles.ts'
import { countUp, dashboardPlace, everybody, type Answered, type DashboardPlace } from '../dashboard/place.ts'

const routes = Object.entries(contract as Record<string, Route>)
const tables = "select count(*)::int from pg_class where relnamespace = 'sluice'::regnamespace"
const uuid = '00000000-0000-4000-8000-000000000000'
const pathOf = ({ path }: Route): string =>
  path
    .replace(':id', path.startsWith('/operations') || path.startsWith('/samples') ? uuid : '999999')
    .replace(':fingerprint', 'f'.repeat(32))
    .replace(':name', 'nobody')

/** Asks again when it was too much at once: that is another test. */
async function limited(make: () => Promise<Response>): Promise<number> {
  for (;;) {
    const { status } = await make()
    if (status !== 429) return status
    await new Promise((resolve) => setTimeout(resolve, 200))
  }
}

/** What the contract says about a request, whatever it is about. */
function expectedStatus(route: Route, role: string, method: string): number[] {
  if (method !== 'GET' && method !== 'POST') return [405]
  if (role === 'nobody') return [401]
  // The other method of the same path may be a route of its own.
  const meant =
    method === route.method ? route : routes.find(([, one]) => one.method === method && fits(one, route))?.[1]
  if (meant === undefined) return [404]
  return includes(role as (typeof roles)[number], meant.role) ? [200, 400, 404, 409] : [403]
}

const fits = (one: Route, other: Route): boolean => {
  const [a, b] = [one.path.split('/'), pathOf(other).split('/')]
  return a.length === b.length && a.every((step, at) => step.startsWith(':') || step === b[at])
}

describe('security', () => {
  let place: DashboardPlace
  beforeAll(async () => {
    place = await dashboardPlace({ hosts: ['127.0.0.1', 'ops.example.com'] })
  })
  afterAll(async () => place[Symbol.asyncDispose]())
  type Sent = Omit<RequestInit, 'headers'> & { headers?: Record<string, string> }
  const send = (path: string, { headers, ...init }: Sent = {}): Promise<Response> =>
    place.dashboard.fetch(
      new Request(`http://ops.example.com${path}`, { ...init, headers: { host: 'ops.example.com', ...headers } }),
    )

  test('every route, role and method: the server decides', async () => {
    const wrong: string[] = []
    let asked = 0
    for (const [name, route] of routes) {
      for (const role of ['nobody', ...roles]) {
        for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
          asked += 1
          const change = method === 'GET' ? {} : { 'content-type': 'application/json', 'x-sluice-intent': '1' }
          const who = role === 'nobody' ? {} : { 'x-role': role }
          const body = method === 'GET' ? {} : { body: '{}' }
          const status = await limited(() =>
            send(`/api${pathOf(route)}`, { method, headers: { ...who, ...change }, ...body }),
          )
          const expected = expectedStatus(route, role, method)
          if (!expected.includes(status))
            wrong.push(`${method} ${name} as ${role}: ${status}, not ${expected.join(' or ')}`)
        }
      }
    }
    expect(wrong).toEqual([])
    expect(asked).toBe(routes.length * 24)
  })

  test('requests that others make a browser send change nothing', async () => {
    const { id } = await place.sluice.operations.start(countUp)
    const good = { 'x-role': 'admin', 'content-type': 'application/json', 'x-sluice-intent': '1' }
    const body = JSON.stringify({ expectedState: 'queued' })
    const { 'x-sluice-intent': _intent, ...noIntent } = good
    const { 'content-type': _type, ...noType } = good
    const { 'x-role': _role, ...noRole } = good
    const hosts = [
      'evil.example',
      'ops.example.com.evil.example',
      '127.0.0.1:1',
      'localhost',
      '[::1]',
      'ops.example.com:80@evil.example',
      'ops.example.com,evil.example',
    ]
    const origins = [
      'https://evil.example',
      'http://ops.example.com.evil.example',
      'http://evil.example/ops.example.com',
      'null',
      'file://',
      'http://ops.example.com:8080',
      'chrome-extension://abc',
      'data:text/html,x',
      'https://ops.example.com@evil.example',
    ]
    const types = [
      'text/plain',
      'application/x-www-form-urlencoded',
      'multipart/form-data; boundary=x',
      'text/json',
      'application/json5',
      '',
    ]
    const sites = ['cross-site', 'same-site', 'none']
    const requests: [string, Record<string, string>][] = [
      ...hosts.map((host): [string, Record<string, string>] => [`host ${host}`, { ...good, host }]),
      ...origins.map((origin): [string, Record<string, string>] => [`origin ${origin}`, { ...good, origin }]),
      ...types.map((type): [string, Record<string, string>] => [`type ${type}`, { ...noType, 'content-type': type }]),
      ...sites.map((site): [string, Record<string, string>] => [`site ${site}`, { ...good, 'sec-fetch-site': site }]),
      ...sites.map((site): [string, Record<string, string>] => [
        `own origin, site ${site}`,
        { ...good, origin: 'http://ops.example.com', 'sec-fetch-site': site },
      ]),
      ['no intent', noIntent],
      ['nobody', noRole],
      ['an unknown role', { ...good, 'x-role': 'root' }],
    ]
    expect(requests.length).toBeGreaterThanOrEqual(30)
    const through: string[] = []
    for (const [what, headers] of requests) {
      const status = await limited(() => send(`/api/operations/${id}/pause`, { method: 'POST', headers, body }))
      if (status < 400) through.push(what)
    }
    expect(through).toEqual([])
    expect((await place.sluice.operations.get(id)).state).toBe('queued')
    const own = { ...good, origin: 'http://ops.example.com', 'sec-fetch-site': 'same-origin' }
    expect(await limited(() => send(`/api/operations/${id}/pause`, { method: 'POST', headers: own, body }))).toBe(200)
  })

  test('a foreign page may not read, and a link may be followed', async () => {
    const head = { 'x-role': 'viewer' }
    expect(
      (
        await send('/api/operations', {
          headers: { ...head, 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'no-cors' },
        })
      ).status,
    ).toBe(403)
    expect(
      (
        await send('/operations', {
          headers: { ...head, 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' },
        })
      ).status,
    ).toBe(200)
    const page = await send('/operations', { headers: head })
    expect(page.headers.get('content-security-policy')).toMatch(/default-src 'none'; script-src 'self'/)
    expect(page.headers.get('content-security-policy')).not.toMatch(/unsafe/)
    expect(page.headers.get('access-control-allow-origin')).toBeNull()
    expect(await page.text()).not.toMatch(/<script(?![^>]* src=)/)
  })

  test('what is typed into filters stays a value', async () => {
    const seeds = [
      "'",
      "' or '1'='1",
      "'; drop table sluice.job; --",
      "\\'; select pg_sleep(9); --",
      '") or 1=1 --',
      "' union select null,null --",
      '%27',
      '$1',
      '${1+1}',
      '1; delete from sluice.queue',
      '*/ select 1 /*',
      "' || (select 1) || '",
      'x\u0000y',
      '\u202e',
      '../../etc/passwd',
      '{"$gt":""}',
      "'::int",
      'a'.repeat(199),
      '%',
      '_',
      'NaN',
      '-1',
      '1e309',
      '0x10',
      '[]',
    ]
    const strings = seeds.flatMap((text) => [text, `${text} `])
    expect(strings.length).toBeGreaterThanOrEqual(50)
    const before = await place.db.value(tables)
    const odd: string[] = []
    for (const text of strings) {
      const value = encodeURIComponent(text)
      for (const path of [
        `/jobs?name=${value}`,
        `/jobs?states=${value}`,
        `/jobs?before=${value}`,
        `/jobs?name=charge&arg=card%3D${value}`,
        `/jobs?name=charge&arg=${value}%3D1`,
        `/jobs?within=${value}&states=succeeded`,
        `/operations?name=${value}`,
        `/operations?show=${value}`,
        `/audit?actor=${value}`,
        `/batches?before=${value}`,
        `/jobs/${value}`,
        `/operations/${value}`,
      ]) {
        let answer = await send(`/api${path}`, { headers: { 'x-role': 'admin' } })
        // Refused for its pace alone, it would not have been looked at.
        while (answer.status === 429) {
          await new Promise((resolve) => setTimeout(resolve, 200))
          answer = await send(`/api${path}`, { headers: { 'x-role': 'admin' } })
        }
        const json = (await answer.json()) as Answered
        const empty =
          json.jobs?.length === 0 ||
          json.operations?.length === 0 ||
          json.acts?.length === 0 ||
          json.batches?.length === 0
        if (![400, 404, 413].includes(answer.status) && !(answer.status === 200 && empty))
          odd.push(`${path}: ${answer.status} ${JSON.stringify(json).slice(0, 100)}`)
      }
    }
    expect(odd).toEqual([])
    expect(await place.db.value(tables)).toBe(before)
  })

  test('bodies that are too large, broken or not in the contract are refused', async () => {
    const good = { 'x-role': 'admin', 'content-type': 'application/json', 'x-sluice-intent': '1' }
    const post = async (body: string): Promise<number> =>
      (await send('/api/plan', { method: 'POST', headers: good, body })).status
    expect(await post(JSON.stringify({ name: 'count-up', args: 'x'.repeat(400_000) }))).toBe(400)
    expect(await post('{')).toBe(400)
    expect(await post('[]')).toBe(400)
    expect(await post('{"name":"count-up","__proto__":{"a":1}}')).toBe(400)
    expect(await post('{"name":"count-up","constructor":1}')).toBe(400)
    expect(await post('{"name":"count-up","force":true}')).toBe(400)
    expect((await send(`/api/jobs?name=${'x'.repeat(5_000)}`, { headers: good })).status).toBe(413)
  })

  test('too many requests of one visitor are slowed down', async () => {
    const head = { 'x-role': 'operator', 'content-type': 'application/json', 'x-sluice-intent': '1' }
    const statuses = await Promise.all(
      [...Array(60).keys()].map(
        async () => (await send('/api/plan', { method: 'POST', headers: head, body: '{}' })).status,
      ),
    )
    expect(statuses).toContain(429)
    expect(statuses).toContain(400)
  })

  test('a read-only dashboard changes nothing, whoever asks', async () => {
    await using quiet = createDashboard(place.sluice, { authorize: everybody, readOnly: true })
    const headers = { host: 'localhost', 'x-role': 'admin', 'content-type': 'application/json', 'x-sluice-intent': '1' }
    const answer = await quiet.fetch(
      new Request('http://localhost/api/start', { method: 'POST', headers, body: '{"name":"count-up"}' }),
    )
    expect(answer.status).toBe(403)
  })

  test('without knowing who asks it neither starts nor listens beyond this machine', async () => {
    const { sluice } = place
    expect(() => createDashboard(sluice, {} as never)).toThrow(expect.objectContaining({ code: 'DASHBOARD_UNGUARDED' }))
    expect(() => createDashboard(sluice, { authorize: everybody, basepath: '/x' } as never)).toThrow(/basePath/)
    for (const host of ['0.0.0.0', '::', '192.168.1.1']) {
      await expect(serveDashboard(sluice, { host, port: 0 })).rejects.toMatchObject({ code: 'DASHBOARD_UNGUARDED' })
    }
  })

  test('the token of a start opens it once it is a cookie, and nothing else does', async () => {
    await using served = await serveDashboard(place.sluice, { port: 0 })
    const { origin, searchParams } = new URL(served.url)
    const token = searchParams.get('token') ?? ''
    expect((await fetch(`${origin}/api/session`)).status).toBe(401)
    expect((await fetch(`${origin}/?token=${token.slice(1)}x`)).status).toBe(401)
    const entered = await fetch(served.url)
    const cookie = entered.headers.get('set-cookie') ?? ''
    expect(cookie).toMatch(/^sluice_\d+=[\w-]{43}; Path=\/; Max-Age=604800; HttpOnly; SameSite=Strict$/)
    expect(cookie).not.toContain(token)
    expect(await entered.text()).toContain('http-equiv="refresh"')
    const headers = { cookie: cookie.split(';')[0] ?? '' }
    expect((await fetch(`${origin}/api/session`, { headers })).status).toBe(200)
    expect((await fetch(`${origin}/api/session`, { headers: { cookie: headers.cookie.slice(0, -2) } })).status).toBe(
      401,
    )
    await using second = await serveDashboard(place.sluice, { port: 0 })
    expect((await fetch(`${new URL(second.url).origin}/api/session`, { headers })).status).toBe(401)
  })
})
