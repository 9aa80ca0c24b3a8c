import type { IncomingMessage, ServerResponse } from 'node:http'
import { SluiceError } from '../../errors.ts'
import { parseDuration, type Duration } from '../../std/duration.ts'
import { errorRecord } from '../../std/error-record.ts'
import { classify } from '../../store/sqlstate.ts'
import { bodyOfFetch, bodyOfNode, BodyProblem, type Body } from './body.ts'
import type { InboxDefinition } from './define.ts'
import type { Inboxes } from './inboxes.ts'
import type { InboxKey } from './key.ts'
import { maxPayloadBytes } from './payload.ts'

/** Headers of a request, by lower-case name. */
export type HeaderLookup = (name: string) => string | undefined

/** How an endpoint treats its requests. */
export interface EndpointOptions {
  /** Whether the request really comes from the source. False, or an error: 401. The body is as it came. */
  verify?(body: Uint8Array, header: HeaderLookup): boolean | Promise<boolean>
  /** The payload in the body. An error: 400. Default: JSON. */
  parse?(body: Uint8Array, header: HeaderLookup): unknown
  /** What the source calls the message, where that is in a header. */
  key?(header: HeaderLookup): InboxKey | undefined
  /** The body may have so many bytes. Default: 256 KiB. */
  limit?: number
  /** After so long without an answer of the database: 503. Default: 10 seconds. */
  timeout?: Duration
}

/** An inbox as an endpoint: for frameworks with fetch-style requests, and for those on top of node:http. */
export interface InboxEndpoint {
  readonly fetch: (request: Request) => Promise<Response>
  readonly node: (request: IncomingMessage, response: ServerResponse) => Promise<void>
}

interface Answer {
  status: number
  body: Record<string, unknown>
  headers?: Record<string, string>
}

/** Whoever can take messages in: a {@link Sluice}. */
interface Receiver {
  readonly inboxes: Inboxes
}

/**
 * Makes an endpoint for an inbox. It answers 202 to a new message and 200 to a known one, once that is committed; 4xx
 * to what will never be taken, and 503 when the database is away, so that the source sends again.
 *
 * @example
 * ```ts
 * import { createServer } from 'node:http'
 * import { inboxHandler, type InboxDefinition } from 'sluice'
 *
 * declare const appleRenewals: InboxDefinition<{ notificationUuid: string }>
 * const webhook = inboxHandler(sluice, appleRenewals)
 * createServer((request, response) => void webhook.node(request, response)).listen(3000)
 * ```
 */
export function inboxHandler<Input>(
  sluice: Receiver,
  inbox: InboxDefinition<Input>,
  options: EndpointOptions = {},
): InboxEndpoint {
  const limit = options.limit ?? maxPayloadBytes
  const timeoutMs = parseDuration(options.timeout ?? '10s')
  if (!(Number.isSafeInteger(limit) && limit > 0) || timeoutMs === undefined || timeoutMs < 1) {
    throw new SluiceError('DEFINITION_INVALID', {
      message: `The endpoint of inbox "${inbox.name}" cannot be made: "limit" must be a number of bytes and "timeout" a time such as "10s".`,
      details: { name: inbox.name },
    })
  }
  const answer = async (
    method: string | undefined,
    header: HeaderLookup,
    body: () => Promise<Body>,
  ): Promise<Answer> => {
    try {
      if (method !== 'POST') return { status: 405, body: { error: 'method not allowed' }, headers: { allow: 'POST' } }
      return await receive(await body(), header, { sluice, inbox, options, timeoutMs })
    } catch (error) {
      const refusal = refusalOf(error)
      sluice.inboxes.refused(inbox.name, { status: refusal.status, error: errorRecord(error) })
      return refusal
    }
  }
  return {
    async fetch(request) {
      const header: HeaderLookup = (name) => request.headers.get(name) ?? undefined
      const { status, body, headers } = await answer(request.method, header, () => bodyOfFetch(request, limit))
      return Response.json(body, { status, ...(headers === undefined ? {} : { headers }) })
    },
    async node(request, response) {
      const header: HeaderLookup = (name) => [request.headers[name.toLowerCase()]].flat()[0]
      const { status, body, headers } = await answer(request.method, header, () => bodyOfNode(request, limit))
      // The source may have gone away meanwhile; it will come again.
      if (response.destroyed || response.headersSent) return
      const text = JSON.stringify(body)
      response.writeHead(status, {
        'content-type': 'application/json',
        // Without it the answer goes out in chunks, each a write of its own.
        'content-length': Buffer.byteLength(text),
        ...headers,
        // What was not read is not waited for.
        ...(request.complete ? {} : { connection: 'close' }),
      })
      response.end(text)
    },
  }
}

interface Order<Input> {
  sluice: Receiver
  inbox: InboxDefinition<Input>
  options: EndpointOptions
  timeoutMs: number
}

async function receive<Input>(body: Body, header: HeaderLookup, order: Order<Input>): Promise<Answer> {
  const { sluice, inbox, options, timeoutMs } = order
  const payload = await payloadOf(body, header, options)
  const key = options.key?.(header)
  const receiving = sluice.inboxes.receive(inbox, payload as Input, key === undefined ? {} : { key })
  const { status, id } = await inTime(receiving, timeoutMs)
  return { status: status === 'new' ? 202 : 200, body: { status, id } }
}

async function payloadOf(body: Body, header: HeaderLookup, options: EndpointOptions): Promise<unknown> {
  if ('parsed' in body) {
    if (options.verify === undefined && options.parse === undefined) return body.parsed
    throw new BodyProblem(
      500,
      'the body was parsed before the endpoint saw it, so that it cannot be verified any more: mount the endpoint before the parser, or keep the raw body as request.rawBody',
    )
  }
  const { raw } = body
  // Anything but a plain yes is a no.
  const verdict = await attempt<unknown>(
    async () => (options.verify === undefined ? true : options.verify(raw, header)),
    () => false,
  )
  if (verdict !== true) throw new BodyProblem(401, 'the signature is wrong')
  return attempt(
    async () => (options.parse === undefined ? parseJson(raw) : options.parse(raw, header)),
    (error) => {
      throw new BodyProblem(400, 'the body cannot be parsed', { cause: error })
    },
  )
}

async function attempt<T>(work: () => T | Promise<T>, otherwise: (error: unknown) => T): Promise<T> {
  try {
    return await work()
  } catch (error) {
    return otherwise(error)
  }
}

const utf8 = new TextDecoder('utf-8', { fatal: true })

function parseJson(raw: Uint8Array): unknown {
  return JSON.parse(utf8.decode(raw))
}

/** An answer that comes too late is none to the source, which will send again. */
async function inTime<T>(work: Promise<T>, limitMs: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new BodyProblem(503, 'the database takes too long')), limitMs)
  })
  // It may still be committed, or fail, with nobody there to hear it.
  work.catch(() => undefined)
  return Promise.race([work, late]).finally(() => clearTimeout(timer))
}

function refusalOf(error: unknown): Answer {
  if (error instanceof BodyProblem) {
    const { status, message } = error
    const headers = status === 503 ? { headers: { 'retry-after': '5' } } : {}
    return { status, body: { error: status === 500 ? 'misconfigured' : message }, ...headers }
  }
  if (error instanceof SluiceError && error.code === 'PAYLOAD_INVALID') {
    return { status: 422, body: { error: error.message, code: error.code } }
  }
  // What the server of the sender cannot mend is not its business; the event has the error.
  return ['connection', 'retry', 'hold'].includes(classify(error))
    ? { status: 503, body: { error: 'the database is away; send again' }, headers: { 'retry-after': '5' } }
    : { status: 500, body: { error: 'the message could not be taken in; send again' } }
}
