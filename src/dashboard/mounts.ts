import type { IncomingMessage, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'

/** Answers a request of the fetch kind. */
export type Fetch = (request: Request) => Promise<Response>

/** A listener for `node:http`, and for what is built upon it, such as Express. */
export type NodeListener = (request: IncomingMessage, response: ServerResponse) => void

/** What we need of Fastify. Its own types are not needed to use it. */
interface FastifyLike {
  removeAllContentTypeParsers(): unknown
  addContentTypeParser(
    type: string,
    parser: (request: unknown, payload: unknown, done: (error: null) => void) => void,
  ): unknown
  all(path: string, handler: (request: { raw: IncomingMessage }, reply: FastifyReplyLike) => void): unknown
}

interface FastifyReplyLike {
  raw: ServerResponse
  hijack(): unknown
}

/** A plugin for Fastify: in a scope of its own, without parsers, so that the body arrives as it was sent. */
export type FastifyPlugin = (app: FastifyLike, options: unknown, done: () => void) => void

/** What Express and its parsers leave on a request. */
interface Parsed extends IncomingMessage {
  originalUrl?: string
  body?: unknown
}

/** The listener for a handler of the fetch kind. */
export function nodeListener(fetch: Fetch): NodeListener {
  return (incoming, outgoing) => {
    const gone = new AbortController()
    outgoing.once('close', () => gone.abort())
    void answer(fetch, { incoming, outgoing, signal: gone.signal })
  }
}

/** The plugin for a listener. */
export function fastifyPlugin(listener: NodeListener): FastifyPlugin {
  const pass = (request: { raw: IncomingMessage }, reply: FastifyReplyLike): void => {
    reply.hijack()
    listener(request.raw, reply.raw)
  }
  return (app, _options, done) => {
    app.removeAllContentTypeParsers()
    app.addContentTypeParser('*', (_request, _payload, parsed) => parsed(null))
    app.all('/', pass)
    app.all('/*', pass)
    done()
  }
}

interface Exchange {
  incoming: Parsed
  outgoing: ServerResponse
  signal: AbortSignal
}

async function answer(fetch: Fetch, { incoming, outgoing, signal }: Exchange): Promise<void> {
  try {
    const response = await fetch(requestOf(incoming, signal))
    outgoing.statusCode = response.status
    for (const [name, value] of response.headers) outgoing.setHeader(name, value)
    if (response.body === null || incoming.method === 'HEAD') return void outgoing.end()
    await pipeline(Readable.fromWeb(response.body as never), outgoing)
  } catch {
    // A request that cannot be one, or a reader that has gone.
    if (!outgoing.headersSent) outgoing.writeHead(400)
    outgoing.end()
  }
}

function requestOf(incoming: Parsed, signal: AbortSignal): Request {
  const headers = new Headers()
  for (const [name, value] of Object.entries(incoming.headers)) {
    if (name.startsWith(':')) continue
    for (const one of [value ?? []].flat()) headers.append(name, one)
  }
  // Express takes the prefix off of the address.
  const path = incoming.originalUrl ?? incoming.url ?? '/'
  const url = new URL(`http://${incoming.headers.host ?? 'localhost'}${path.startsWith('/') ? path : '/'}`)
  const method = incoming.method ?? 'GET'
  return new Request(url, { method, headers, signal, ...bodyOf(incoming, method) })
}

/** The body, also when a parser before us has read it. */
function bodyOf(incoming: Parsed, method: string): RequestInit {
  if (method === 'GET' || method === 'HEAD') return {}
  if (!incoming.readableDidRead) return { body: Readable.toWeb(incoming) as never, duplex: 'half' }
  const { body } = incoming
  return {
    body: typeof body === 'string' || body instanceof Uint8Array ? (body as string) : JSON.stringify(body ?? null),
  }
}
