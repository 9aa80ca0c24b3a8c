import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** What may go wrong with a call: an error, no answer, or an answer that gets lost after the work was done. */
const kinds = ['error', 'hang', 'lost'] as const
type Fault = (typeof kinds)[number]

export interface Trouble {
  /** How many calls go wrong, and every how many calls one does. */
  faults: number
  every: number
  /** How long each call takes. */
  latencyMs: number
}

/**
 * An object store over HTTP in which every upload is a version of its own and a delete can name the version it means.
 * S3 has that (If-Match, version ids); s3rver, which the example uses, has not, and would be too slow here.
 */
export class ObjectStore implements AsyncDisposable {
  readonly objects = new Map<string, number>()
  /** The keys under which the effect of each row came. */
  readonly purges = new Map<string, Set<string>>()
  readonly hits: Record<Fault | 'outage', number> = { error: 0, hang: 0, lost: 0, outage: 0 }
  calls = 0
  /** Deletes that named a version which was not there any more. */
  refused = 0
  down = false
  #version = 0
  readonly #trouble: Trouble
  readonly #server = createServer((request, response) => void this.#answer(request, response))
  readonly #hanging = new Set<ServerResponse>()

  constructor(trouble: Trouble) {
    this.#trouble = trouble
  }

  async start(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve))
    this.#server.keepAliveTimeout = 60_000
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  get faults(): number {
    return this.hits.error + this.hits.hang + this.hits.lost
  }

  /** What an application does: it is in this process, and has no trouble. */
  upload(name: string): number {
    this.#version += 1
    this.objects.set(name, this.#version)
    return this.#version
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    this.calls += 1
    request.resume()
    if (this.down) {
      this.hits.outage += 1
      return void request.socket.destroy()
    }
    const fault = this.#nextFault()
    if (fault !== undefined) this.hits[fault] += 1
    if (fault === 'hang') return void this.#hanging.add(response)
    if (fault === 'error') return void response.writeHead(500).end()
    await new Promise((resolve) => setTimeout(resolve, this.#trouble.latencyMs))
    const status = this.#work(request)
    if (fault === 'lost') return void request.socket.destroy()
    response.writeHead(status).end()
  }

  #nextFault(): Fault | undefined {
    const { faults, every } = this.#trouble
    return this.faults < faults && this.calls % every === 0 ? kinds[this.faults % kinds.length] : undefined
  }

  #work({ method, url = '', headers }: IncomingMessage): number {
    const name = decodeURIComponent(url.slice(url.lastIndexOf('/') + 1))
    if (method === 'POST') {
      const keys = this.purges.get(name) ?? new Set()
      this.purges.set(name, keys.add(String(headers['idempotency-key'])))
      return 204
    }
    const wanted = headers['if-match']
    if (wanted !== undefined && this.objects.has(name) && this.objects.get(name) !== Number(wanted)) {
      this.refused += 1
      return 412
    }
    this.objects.delete(name)
    return 204
  }
}
