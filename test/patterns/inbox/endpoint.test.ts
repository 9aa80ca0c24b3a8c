import { createHmac, timingSafeEqual } from 'node:crypto'
import { createServer, type RequestListener, type Server } from 'node:http'
import { connect, type AddressInfo } from 'node:net'
import { serve } from '@hono/node-server'
import express from 'express'
import fastify from 'fastify'
import { Hono } from 'hono'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { inboxHandler, type EndpointOptions, type InboxEndpoint } from '../../../src/index.ts'
import type { TestDatabase } from '../../support/database.ts'
import { startFaultProxy, type FaultProxy } from '../../support/fault-proxy/index.ts'
import { ledgerDatabase, place, renewals, type Place } from './ground.ts'

const inbox = renewals()
const limit = 2_000

const sign = (body: string): string => createHmac('sha256', 'secret').update(body).digest('hex')

const verify: EndpointOptions['verify'] = (body, header) =>
  timingSafeEqual(
    Buffer.from(createHmac('sha256', 'secret').update(body).digest('hex')),
    Buffer.from(header('X-Signature') ?? ''),
  )

interface Served extends AsyncDisposable {
  url: string
}

const addressOf = (server: Pick<Server, 'address'>): string =>
  `http://127.0.0.1:${(server.address() as AddressInfo).port}/webhooks/apple`

async function serveNode(listener: RequestListener): Promise<Served> {
  const server = createServer(listener)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: addressOf(server),
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** The endpoint in each framework, as the guide shows it. */
const frameworks: Record<string, (webhook: InboxEndpoint) => Promise<Served>> = {
  'node:http': (webhook) => serveNode((request, response) => void webhook.node(request, response)),
  Express: (webhook) => {
    const app = express()
    app.all('/webhooks/apple', webhook.node)
    return serveNode(app as RequestListener)
  },
  'Express behind express.json() that keeps the raw body': (webhook) => {
    const app = express()
    app.use(
      express.json({
        limit: '10mb',
        type: () => true,
        verify: (request, _response, raw) => void Object.assign(request, { rawBody: raw }),
      }),
    )
    app.all('/webhooks/apple', webhook.node)
    // What its parser refuses, it answers itself.
    app.use((error: { status: number }, _: unknown, response: express.Response, next: express.NextFunction) => {
      if (response.headersSent) next()
      else response.status(error.status).json({ error: 'parser' })
    })
    return serveNode(app as RequestListener)
  },
  Fastify: async (webhook) => {
    const app = fastify()
    await app.register(async (scope) => {
      scope.removeAllContentTypeParsers()
      scope.addContentTypeParser('*', (_request, _body, done) => done(null))
      scope.all('/webhooks/apple', async (request, reply) => {
        reply.hijack()
        await webhook.node(request.raw, reply.raw)
      })
    })
    await app.listen({ port: 0, host: '127.0.0.1' })
    return { url: addressOf(app.server), [Symbol.asyncDispose]: () => app.close() }
  },
  Hono: async (webhook) => {
    const app = new Hono()
    app.all('/webhooks/apple', (c) => webhook.fetch(c.req.raw))
    const { promise, server } = await listening(app)
    await promise
    return {
      url: addressOf(server),
      [Symbol.asyncDispose]: () => new Promise<void>((resolve) => void server.close(() => resolve())),
    }
  },
}

async function listening(app: Hono): Promise<{ promise: Promise<void>; server: Server }> {
  const ready = new AbortController()
  const promise = new Promise<void>((resolve) => ready.signal.addEventListener('abort', () => resolve()))
  const server = serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }, () => ready.abort()) as Server
  return { promise, server }
}

let db: TestDatabase
let at: Place

beforeAll(async () => {
  db = await ledgerDatabase()
  at = place(db, [inbox])
})

afterAll(async () => {
  await at.sluice.stop()
  await db[Symbol.asyncDispose]()
})

async function post(url: string, body: string, headers: Record<string, string> = {}): Promise<[number, unknown]> {
  const response = await fetch(url, {
    method: 'POST',
    body,
    headers: { 'content-type': 'application/json', 'x-signature': sign(body), ...headers },
  })
  return [response.status, await response.json()]
}

const messages = (): Promise<number> => db.value('select count(*)::int from sluice.inbox_message')

describe.each(Object.entries(frameworks))('%s', (name, mount) => {
  let served: Served
  beforeAll(async () => {
    served = await mount(inboxHandler(at.sluice, inbox, { verify, limit }))
  })
  afterAll(async () => served[Symbol.asyncDispose]())

  test('answers 202 to what is new and 200 to what is known', async () => {
    const body = JSON.stringify({ id: name, cents: 5 })
    const [status, answer] = await post(served.url, body)
    expect([status, answer]).toEqual([202, { status: 'new', id: expect.any(Number) }])
    expect(await post(served.url, body)).toEqual([200, { ...(answer as object), status: 'duplicate' }])
  })

  test('says how long its answer is, so that it goes out in one piece', async () => {
    const response = await fetch(served.url, { method: 'POST', body: '{' })
    expect(response.headers.get('content-length')).toBe(String((await response.arrayBuffer()).byteLength))
  })

  test('refuses bad JSON, bad payloads, bad signatures and long bodies, in JSON, and writes nothing', async () => {
    const before = await messages()
    const long = JSON.stringify({ id: 'long', cents: 5, more: 'x'.repeat(limit) })
    const [fits, unfit] = [JSON.stringify({ id: 'x', cents: 5 }), JSON.stringify({ id: 'x' })]
    expect([
      (await post(served.url, '{"id":'))[0],
      (await post(served.url, unfit))[0],
      (await post(served.url, fits, { 'x-signature': sign('something else') }))[0],
      (await post(served.url, fits, { 'x-signature': 'short' }))[0],
      (await post(served.url, long))[0],
      (await fetch(served.url)).status,
    ]).toEqual([400, 422, 401, 401, 413, 405])
    expect(await messages()).toBe(before)
  })
})

const behindPlainParser = (webhook: InboxEndpoint): Promise<Served> => {
  const app = express()
  app.use(express.json())
  app.post('/webhooks/apple', webhook.node)
  return serveNode(app as RequestListener)
}

test('Express behind a plain express.json(): taken without verify, and refused with it', async () => {
  await using trusting = await behindPlainParser(inboxHandler(at.sluice, inbox))
  expect((await post(trusting.url, JSON.stringify({ id: 'parsed', cents: 5 })))[0]).toBe(202)
  expect(await at.inboxes.find(inbox, 'parsed')).toMatchObject({ payload: { id: 'parsed', cents: 5 } })
  await using verifying = await behindPlainParser(inboxHandler(at.sluice, inbox, { verify }))
  expect(await post(verifying.url, JSON.stringify({ id: 'unseen', cents: 5 }))).toEqual([
    500,
    { error: 'misconfigured' },
  ])
  const refused = await at.events.event('inbox.refused', { nth: at.events.count('inbox.refused') })
  expect(refused.error.message).toContain('mount the endpoint before the parser')
  expect(await at.inboxes.find(inbox, 'unseen')).toBeUndefined()
})

test('a body that was read and not kept is refused, not waited for', async () => {
  const webhook = inboxHandler(at.sluice, inbox)
  await using served = await serveNode((request, response) => {
    request.resume().on('end', () => void webhook.node(request, response))
  })
  expect((await post(served.url, JSON.stringify({ id: 'eaten', cents: 5 })))[0]).toBe(500)
})

test('a body without an announced length is cut off at the limit', async () => {
  await using served = await serveNode(
    (request, response) => void inboxHandler(at.sluice, inbox, { limit }).node(request, response),
  )
  const { hostname, port } = new URL(served.url)
  const socket = connect({ host: hostname, port: Number(port) })
  const answer = new Promise<string>((resolve) => socket.once('data', (data) => resolve(data.toString())))
  socket.on('error', () => undefined)
  socket.write('POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n')
  for (let i = 0; i < 4; i++) socket.write(`3e8\r\n${'x'.repeat(1_000)}\r\n`)
  expect(await answer).toMatch(/^HTTP\/1.1 413 [\s\S]*connection: close/i)
  socket.destroy()
})

test('a compressed body is refused', async () => {
  await using served = await serveNode(
    (request, response) => void inboxHandler(at.sluice, inbox).node(request, response),
  )
  expect((await post(served.url, '{}', { 'content-encoding': 'gzip' }))[0]).toBe(415)
})

test('the key may be in a header, and the payload in another form than JSON', async () => {
  const webhook = inboxHandler(at.sluice, inbox, {
    key: (header) => header('X-Delivery'),
    parse: (body) => JSON.parse(Buffer.from(Buffer.from(body).toString(), 'base64').toString()) as unknown,
  })
  const body = Buffer.from(JSON.stringify({ id: 'any', cents: 5 })).toString('base64')
  const send = (): Promise<Response> =>
    webhook.fetch(new Request('http://x/', { method: 'POST', headers: { 'x-delivery': 'd-1' }, body }))
  expect((await send()).status).toBe(202)
  expect((await send()).status).toBe(200)
  expect(await at.inboxes.find(inbox, 'd-1')).toBeDefined()
})

const request = (id: string): Request =>
  new Request('http://x/', { method: 'POST', body: JSON.stringify({ id, cents: 5 }) })

/** A process that reaches the database through a proxy. */
async function behindProxy(): Promise<{ proxy: FaultProxy; webhook: InboxEndpoint; through: Place } & AsyncDisposable> {
  const upstream = new URL(db.workerUrl)
  const proxy = await startFaultProxy({ host: upstream.hostname, port: Number(upstream.port) })
  const through = place(db, [inbox], { database: proxy.url(db.workerUrl) })
  const webhook = inboxHandler(through.sluice, inbox)
  return {
    proxy,
    through,
    webhook,
    [Symbol.asyncDispose]: async () => {
      await through.sluice.stop()
      await proxy[Symbol.asyncDispose]()
    },
  }
}

describe('when the database', () => {
  test('is away, the answer is 503, and the next delivery is taken when it is back', async () => {
    await using net = await behindProxy()
    expect((await net.webhook.fetch(request('up'))).status).toBe(202)
    {
      using _starting = net.proxy.answer('57P03', { to: /inbox_receive/ })
      const answer = await net.webhook.fetch(request('down'))
      expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '5'])
      expect(await answer.json()).toEqual({ error: 'the database is away; send again' })
    }
    expect((await net.webhook.fetch(request('down'))).status).toBe(202)
    expect(net.through.events.count('inbox.refused')).toBe(1)
  })

  test('does not listen at all, the answer is 503', async () => {
    const url = new URL(db.workerUrl)
    url.port = '1'
    await using nowhere = place(db, [inbox], { database: url.href })
    expect((await inboxHandler(nowhere.sluice, inbox).fetch(request('x'))).status).toBe(503)
  })

  test('commits and its answer is lost, the answer is 503, and the next delivery is known', async () => {
    await using net = await behindProxy()
    expect((await net.webhook.fetch(request('warm'))).status).toBe(202)
    using rule = net.proxy.dropAnswerTo(/inbox_receive/, { times: 1, ending: 'rst' })
    expect((await net.webhook.fetch(request('doubt'))).status).toBe(503)
    expect(rule.hits).toBe(1)
    expect((await net.webhook.fetch(request('doubt'))).status).toBe(200)
  })

  test('gives no answer in time, the answer is 503', async () => {
    await using net = await behindProxy()
    expect((await net.webhook.fetch(request('first'))).status).toBe(202)
    using rule = net.proxy.dropAnswerTo(/inbox_receive/, { times: 1, ending: 'hang' })
    const impatient = inboxHandler(net.through.sluice, inbox, { timeout: '500ms' })
    const answer = await impatient.fetch(request('hanging'))
    expect([answer.status, await answer.json()]).toEqual([503, { error: 'the database takes too long' }])
    expect(rule.hits).toBe(1)
    net.proxy.cut('rst')
  })

  test('has no tables of ours, the answer is 500 and says nothing of it', async () => {
    await using lost = place(db, [inbox], { schema: 'elsewhere' })
    const answer = await inboxHandler(lost.sluice, inbox).fetch(request('x'))
    expect([answer.status, await answer.json()]).toEqual([
      500,
      { error: 'the message could not be taken in; send again' },
    ])
    expect((await lost.events.event('inbox.refused')).error).toMatchObject({ code: 'SCHEMA_MISSING' })
  })
})

test('an endpoint with a limit or a time that is none is not made', () => {
  expect(() => inboxHandler(at.sluice, inbox, { limit: 0 })).toThrowError('"limit" must be a number of bytes')
  expect(() => inboxHandler(at.sluice, inbox, { timeout: 'soon' as never })).toThrowError('"timeout"')
})
