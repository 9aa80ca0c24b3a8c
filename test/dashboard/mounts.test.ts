import express from 'express'
import fastify from 'fastify'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createDashboard, type Dashboard } from '../../src/dashboard/index.ts'
import { ask, countUp, dashboardPlace, everybody, type DashboardPlace } from './place.ts'

const basePath = '/admin/sluice'

async function listening(server: Server): Promise<{ origin: string } & AsyncDisposable> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

describe('mounted in', () => {
  let place: DashboardPlace
  let dashboard: Dashboard
  beforeAll(async () => {
    place = await dashboardPlace()
    dashboard = createDashboard(place.sluice, { authorize: everybody, basePath, environment: 'test' })
  })
  afterAll(async () => {
    await dashboard.close()
    await place[Symbol.asyncDispose]()
  })

  /** A page, its files, a change with a body, and a stream whose end is noticed. */
  async function works(origin: string): Promise<void> {
    const page = await fetch(`${origin}${basePath}/operations`, { headers: { 'x-role': 'viewer' } })
    expect(page.status).toBe(200)
    expect(await page.text()).toContain(`data-base="${basePath}"`)
    const script = await fetch(`${origin}${basePath}/assets/app.js`)
    expect(script.headers.get('content-type')).toMatch(/javascript/)
    expect((await script.text()).length).toBeGreaterThan(50_000)
    const { id } = await place.sluice.operations.start(countUp)
    const at = `${origin}${basePath}`
    const paused = await ask(at, `/operations/${id}/pause`, { body: { expectedState: 'queued', reason: 'ä body' } })
    expect(paused.json.operation).toMatchObject({ state: 'paused', reason: 'ä body' })
    expect((await ask(at, `/operations/${id}/cancel`, { body: { expectedState: 'paused' } })).status).toBe(200)
    const gone = new AbortController()
    const stream = await fetch(`${at}/api/stream?watch=${encodeURIComponent('/workers')}`, {
      headers: { 'x-role': 'viewer' },
      signal: gone.signal,
    })
    expect(stream.headers.get('content-type')).toBe('text/event-stream')
    let text = ''
    for await (const chunk of stream.body ?? []) {
      text += new TextDecoder().decode(chunk)
      if (text.includes('"workers"')) break
    }
    gone.abort()
    expect(text).toContain('event: news')
    expect((await fetch(`${origin}${basePath}x/operations`, { headers: { 'x-role': 'viewer' } })).status).toBe(404)
  }

  test('node:http', async () => {
    await using server = await listening(createServer(dashboard.node))
    await works(server.origin)
  })

  test('Express', async () => {
    const app = express()
    app.use(basePath, dashboard.node)
    await using server = await listening(createServer(app))
    await works(server.origin)
  })

  test('Express behind parsers that read the body first', async () => {
    const app = express()
    app.use(express.json(), express.urlencoded({ extended: true }))
    app.use(basePath, dashboard.node)
    await using server = await listening(createServer(app))
    await works(server.origin)
  })

  test('Fastify, beside routes of its own', async () => {
    const app = fastify()
    app.post('/echo', async (request) => request.body)
    await app.register(dashboard.fastify, { prefix: basePath })
    await app.listen({ port: 0, host: '127.0.0.1' })
    const origin = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`
    await works(origin)
    const echo = await fetch(`${origin}/echo`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"a":1}',
    })
    expect(await echo.json()).toEqual({ a: 1 })
    app.server.closeAllConnections()
    await app.close()
  })

  test('handlers of the fetch kind, as Next has them', async () => {
    const { GET, POST } = dashboard
    const route = (request: Request): Promise<Response> => (request.method === 'POST' ? POST(request) : GET(request))
    const page = await route(new Request(`http://localhost:3000${basePath}`, { headers: { 'x-role': 'viewer' } }))
    expect(page.status).toBe(200)
    const { id } = await place.sluice.operations.start(countUp)
    const headers = { 'x-role': 'operator', 'content-type': 'application/json', 'x-sluice-intent': '1' }
    const body = JSON.stringify({ expectedState: 'queued' })
    const paused = await route(
      new Request(`http://localhost:3000${basePath}/api/operations/${id}/pause`, { method: 'POST', headers, body }),
    )
    expect(paused.status).toBe(200)
  })
})
