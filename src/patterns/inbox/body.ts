import type { IncomingMessage } from 'node:http'

/** A body as it came; or only what a parser before us has left of it. */
export type Body = { raw: Uint8Array } | { parsed: unknown }

/** A request that is not taken, and the status that says so. */
export class BodyProblem extends Error {
  override readonly name = 'BodyProblem'
  readonly status: number

  constructor(status: number, message: string, options?: ErrorOptions) {
    super(message, options)
    this.status = status
  }
}

const tooLarge = (limit: number): BodyProblem => new BodyProblem(413, `the body has more than ${limit} bytes`)

function checkHead(length: string | null | undefined, encoding: string | null | undefined, limit: number): void {
  if (Number(length ?? 0) > limit) throw tooLarge(limit)
  if ((encoding ?? 'identity') !== 'identity') throw new BodyProblem(415, 'a compressed body is not taken')
}

/** The body of a fetch-style request. */
export async function bodyOfFetch(request: Request, limit: number): Promise<Body> {
  if (request.bodyUsed) throw new BodyProblem(500, 'the body was read before the endpoint saw it')
  checkHead(request.headers.get('content-length'), request.headers.get('content-encoding'), limit)
  return { raw: await collect(request.body ?? [], limit) }
}

/** What parsers of frameworks leave on a request. */
interface Parsed {
  rawBody?: unknown
  body?: unknown
}

/** The body of a request of node:http, also when somebody has read it before. */
export async function bodyOfNode(request: IncomingMessage, limit: number): Promise<Body> {
  const { rawBody, body } = request as Parsed
  const kept = bytesOf(rawBody) ?? bytesOf(body)
  if (kept !== undefined) {
    if (kept.byteLength > limit) throw tooLarge(limit)
    return { raw: kept }
  }
  if (!request.readableDidRead) {
    checkHead(request.headers['content-length'], request.headers['content-encoding'], limit)
    // The answer goes over the same connection, also to a body that is too long.
    return { raw: await collect(request.iterator({ destroyOnReturn: false }), limit) }
  }
  if (body !== undefined) return { parsed: body }
  throw new BodyProblem(500, 'the body was read before the endpoint saw it: mount the endpoint before the parser')
}

function bytesOf(value: unknown): Uint8Array | undefined {
  if (typeof value === 'string') return Buffer.from(value)
  return value instanceof Uint8Array ? value : undefined
}

async function collect(chunks: AsyncIterable<unknown> | Iterable<unknown>, limit: number): Promise<Uint8Array> {
  const parts: Uint8Array[] = []
  let length = 0
  try {
    for await (const chunk of chunks) {
      const bytes = bytesOf(chunk) ?? new Uint8Array()
      length += bytes.byteLength
      if (length > limit) throw tooLarge(limit)
      parts.push(bytes)
    }
  } catch (error) {
    if (error instanceof BodyProblem) throw error
    throw new BodyProblem(400, 'the body ended before its end', { cause: error })
  }
  return Buffer.concat(parts)
}
