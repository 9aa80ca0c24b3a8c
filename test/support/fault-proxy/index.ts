/**
 * A TCP proxy for tests that stands between a client and a real PostgreSQL, understands the wire protocol, and breaks
 * it on demand. Two kinds of fault: weather strikes bytes (black hole, delay, tiny pieces), statement faults strike
 * what the client executes (answer lost after the server has finished, answer replaced by an error). Besides it cuts
 * connections and can lend backends per transaction as a pooler does. Every verb tells what it really hit.
 *
 * A link that a black hole has robbed of bytes never recovers: after `heal()` only new connections work. While the
 * hole lasts, neither side hears that the other has closed; `heal()` lets them know.
 */
import { createServer, type Server, type Socket } from 'node:net'
import { Backend, cancel, type Holder, type Upstream } from './backend.ts'
import { Fault, snapshot, StatementFault, type Ending, type LinkInfo, type StatementAim, type Which } from './faults.ts'
import { Link, type Surroundings } from './link.ts'
import { Pool, type PoolingOptions } from './pooling.ts'
import { Weather, type Direction, type WeatherAim } from './weather.ts'

export type { Fault, LinkInfo } from './faults.ts'

export interface FaultProxyOptions extends Upstream {
  /** Source of jitter, in [0, 1); give a seeded one to repeat a run. */
  random?: () => number
}

type Aim = Omit<StatementAim, 'to'>

export async function startFaultProxy(options: FaultProxyOptions): Promise<FaultProxy> {
  const server = createServer({ noDelay: true })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(0, '127.0.0.1', resolve)
  })
  return new FaultProxy(server, options)
}

export class FaultProxy {
  readonly #server: Server
  #upstream: Upstream
  readonly #weather: Weather
  readonly #links = new Set<Link>()
  readonly #sockets = new Set<Socket>()
  #faults: StatementFault[] = []
  #pooling: { fault: Fault; options: PoolingOptions; pools: Map<string, Pool> } | undefined
  #lastId = 0

  constructor(server: Server, { host, port, random = Math.random }: FaultProxyOptions) {
    this.#server = server
    this.#upstream = { host, port }
    this.#weather = new Weather(random, () => this.#links.forEach((link) => link.settle()))
    server.on('connection', (socket) => this.#accept(socket))
  }

  get port(): number {
    const address = this.#server.address()
    return typeof address === 'object' && address ? address.port : 0
  }

  get links(): LinkInfo[] {
    return [...this.#links].map(snapshot)
  }

  /** The same URL, leading through the proxy. */
  url(original: string): string {
    const url = new URL(original)
    url.hostname = '127.0.0.1'
    url.port = String(this.port)
    return url.href
  }

  /** New connections go there from now on, as when a name is given to another server. */
  lead({ host, port }: Upstream): void {
    this.#upstream = { host, port }
  }

  /** Cuts live connections on both sides, now. Returns how many. */
  cut(how: 'rst' | 'fin', { which = () => true }: { which?: Which } = {}): number {
    const chosen = [...this.#links].filter((link) => which(link))
    for (const link of chosen) link.cut(how)
    return chosen.length
  }

  /** Bytes vanish and sockets stay open, for new connections too. Hits are links that lost bytes, per direction. */
  blackhole(direction: Direction | 'both' = 'both', { which }: { which?: Which } = {}): Fault {
    return this.#weather.blackhole({ direction, ...(which && { which }) })
  }

  /** Delivers later, in order. Hits are deliveries. */
  delay(ms: number, jitterMs = 0, aim: WeatherAim = {}): Fault {
    return this.#weather.delay(ms, jitterMs, aim)
  }

  /** Delivers in pieces of so many bytes. Hits are deliveries. */
  chunk(bytes: number, aim: WeatherAim = {}): Fault {
    return this.#weather.chunk(bytes, aim)
  }

  /** Ends black holes, delays and tiny pieces. Statement faults and pooling are lifted by their own handles. */
  heal(): void {
    this.#weather.clear()
  }

  /** The server executes the statement to its end; the answer is swallowed, and then the connection ends. */
  dropAnswerTo(to: RegExp, { ending, ...aim }: Aim & { ending: Ending }): Fault {
    return this.#add(new StatementFault({ to, ...aim }, { kind: 'drop', ending }))
  }

  /** The statement is not executed; the client is answered with this error, and by fatal codes thrown out. */
  answer(sqlstate: string, aim: StatementAim): Fault {
    return this.#add(new StatementFault(aim, { kind: 'answer', sqlstate }))
  }

  /** New connections borrow a backend per transaction. Hits are transactions that found themselves on another one. */
  pooling(
    mode: PoolingOptions['mode'],
    { backends, keys = 'own' }: { backends: number; keys?: PoolingOptions['keys'] },
  ): Fault {
    const fault = new Fault(() => {
      if (this.#pooling?.fault === fault) this.#pooling = undefined
    })
    this.#pooling = { fault, options: { mode, backends, keys }, pools: new Map() }
    return fault
  }

  async stop(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()))
    for (const link of this.#links) link.cut('fin')
    const gone = [...this.#sockets].map((socket) => new Promise((resolve) => socket.once('close', resolve)))
    for (const socket of this.#sockets) socket.destroy()
    await Promise.all([closed, ...gone])
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop()
  }

  #add(fault: StatementFault): Fault {
    this.#faults = [...this.#faults.filter(({ lifted }) => !lifted), fault]
    return fault
  }

  #accept(socket: Socket): void {
    this.#track(socket)
    this.#lastId += 1
    this.#links.add(new Link(this.#lastId, socket, this.#surroundings))
  }

  get #surroundings(): Surroundings {
    return {
      weather: this.#weather,
      faults: () => this.#faults,
      connect: (startup, holder) => this.#connect(startup, holder),
      cancel: (key, onDone) => this.#cancel(key, onDone),
      poolFor: (link) => this.#poolFor(link),
      closed: (link) => this.#links.delete(link),
    }
  }

  #connect(startup: Buffer, holder: Holder): Backend {
    const backend = new Backend(this.#upstream, startup, holder)
    this.#track(backend.socket)
    return backend
  }

  #cancel(key: Buffer, onDone: () => void): void {
    const link = [...this.#links].find(({ cancelKey }) => cancelKey?.equals(key))
    this.#track(cancel(this.#upstream, link?.backend?.key ?? key, onDone))
  }

  #poolFor(link: Link): Pool | undefined {
    if (!this.#pooling) return undefined
    const { pools, options, fault } = this.#pooling
    const name = JSON.stringify([link.user, link.database])
    const pool = pools.get(name) ?? new Pool(options, fault)
    pools.set(name, pool)
    return pool
  }

  #track(socket: Socket): void {
    this.#sockets.add(socket)
    socket.once('close', () => this.#sockets.delete(socket))
  }
}
