import { randomBytes } from 'node:crypto'
import type { Socket } from 'node:net'
import { ignoreBecauseCloseFollows, type Backend, type Holder } from './backend.ts'
import type { Ending, StatementFault } from './faults.ts'
import { CANCEL_REQUEST, GSS_REQUEST, Splitter, SSL_REQUEST, type Frame } from './frames.ts'
import { Lane } from './lane.ts'
import { errorResponse, message, startupParameters } from './messages.ts'
import { refusedParameter, type Guest, type Pool } from './pooling.ts'
import { Session } from './session.ts'
import { messageOf } from './sqlstate.ts'
import type { Direction, Shape, Weather } from './weather.ts'

/** What a link needs of the proxy it belongs to. */
export interface Surroundings {
  weather: Weather
  faults: () => readonly StatementFault[]
  connect: (startup: Buffer, holder: Holder) => Backend
  cancel: (key: Buffer, onDone: () => void) => void
  poolFor: (link: Link) => Pool | undefined
  closed: (link: Link) => void
}

/** One client's connection: its socket, its session, and the backend that serves it now. */
export class Link implements Holder, Guest {
  readonly id: number
  readonly #client: Socket
  readonly #around: Surroundings
  readonly #splitter = new Splitter({ opening: true })
  readonly #session: Session
  readonly #down: Lane
  readonly #severed = new Set<Direction>()
  readonly #gone = new Set<'client' | 'server'>()
  #phase: 'opening' | 'login' | 'open' | 'closed' = 'opening'
  #startup: ReadonlyMap<string, string> = new Map()
  #cancelKey: Buffer | undefined
  #backend: Backend | undefined
  #lastBackend: Backend | undefined
  #pool: Pool | undefined
  #held: Frame[] = []

  constructor(id: number, client: Socket, around: Surroundings) {
    this.id = id
    this.#client = client
    this.#around = around
    this.#session = new Session(this, around.faults)
    this.#down = new Lane({
      socket: client,
      shape: () => around.weather.shape(this, 'down'),
      onDrain: () => this.#backend?.resume(),
    })
    client.on('data', (chunk) => this.#listen(chunk))
    client.on('error', ignoreBecauseCloseFollows)
    client.on('close', () => this.#leave())
  }

  get user(): string | undefined {
    return this.#startup.get('user')
  }

  get database(): string | undefined {
    return this.#startup.get('database') ?? this.user
  }

  get applicationName(): string | undefined {
    return this.#startup.get('application_name')
  }

  get statements(): number {
    return this.#session.statements
  }

  get status(): 'I' | 'T' | 'E' {
    return this.#session.status
  }

  get lastBackend(): Backend | undefined {
    return this.#lastBackend
  }

  /** The key that this client would cancel with, which in a pool is not that of the backend serving it. */
  get cancelKey(): Buffer | undefined {
    return this.#cancelKey
  }

  get backend(): Backend | undefined {
    return this.#backend
  }

  cut(how: 'rst' | 'fin'): void {
    if (!this.#close(how)) return
    if (how === 'rst') this.#client.resetAndDestroy()
    else this.#client.end()
  }

  /** After a black hole: an end that was swallowed by it is now noticed, as a keep-alive probe would. */
  settle(): void {
    if (this.#gone.has('client') && !this.#around.weather.hole(this, 'up')) this.#close('fin')
    if (this.#gone.has('server') && !this.#around.weather.hole(this, 'down')) this.#hangUp()
  }

  hear(frame: Frame): void {
    if (this.#phase === 'login') {
      this.#login(frame)
      return
    }
    const { bytes, ending } = this.#session.toClient(frame)
    if (frame.type === 'Z' && this.#pool?.mode === 'statement' && this.#session.status !== 'I') {
      this.refuse('08P01', 'transaction blocks not allowed in statement pooling mode')
      return
    }
    if (bytes) this.#pass(bytes)
    if (frame.type === 'Z' && this.#session.betweenTransactions) this.#detach()
    if (ending) this.#endAs(ending)
  }

  lost(backend: Backend): void {
    this.#pool?.lost(backend)
    this.#backend = undefined
    if (this.#around.weather.hole(this, 'down')) this.#gone.add('server')
    else this.#hangUp()
  }

  drained(): void {
    this.#client.resume()
  }

  shapeUp(): Shape | undefined {
    return this.#around.weather.shape(this, 'up')
  }

  attach(backend: Backend): void {
    this.#backend = backend
    this.#lastBackend = backend
    backend.serve(this)
    for (const frame of this.#held.splice(0)) this.#forward(frame)
  }

  refuse(sqlstate = '08P01', text = 'server conn crashed?'): void {
    this.#pass(errorResponse('FATAL', sqlstate, text))
    this.#hangUp()
  }

  #listen(chunk: Buffer): void {
    if (this.#phase === 'closed' || (this.#phase !== 'opening' && this.#swallows('up'))) return
    for (const frame of this.#splitter.push(chunk)) this.#take(frame)
    if (this.#backend?.congested) this.#client.pause()
  }

  #take(frame: Frame): void {
    if (this.#phase === 'opening') this.#open(frame)
    else if (this.#phase === 'login') this.#backend?.send(frame.bytes)
    else if (this.#phase === 'open') this.#forward(frame)
  }

  #open({ bytes }: Frame): void {
    const code = bytes.length < 8 ? 0 : bytes.readUInt32BE(4)
    if (code === CANCEL_REQUEST) this.#cancel(bytes)
    else if (code === SSL_REQUEST || code === GSS_REQUEST) this.#pass(Buffer.from('N'))
    else this.#start(bytes)
  }

  #cancel(bytes: Buffer): void {
    if (!this.#swallows('up')) this.#around.cancel(bytes.subarray(8), () => this.#hangUp())
  }

  #start(bytes: Buffer): void {
    this.#startup = startupParameters(bytes)
    this.#phase = 'login'
    if (this.#swallows('up') || this.#refusedByFault()) return
    this.#pool = this.#around.poolFor(this)
    const refused = this.#pool && refusedParameter(this.#startup)
    if (refused === undefined) this.#backend = this.#around.connect(bytes, this)
    else this.refuse('08P01', `unsupported startup parameter: ${refused}`)
  }

  #refusedByFault(): boolean {
    for (const fault of this.#around.faults()) {
      const plan = fault.aimsAtConnect ? fault.take(this, 'connect') : undefined
      if (plan?.effect.kind !== 'answer') continue
      fault.strike({ link: this, error: plan.effect.sqlstate })
      this.refuse(plan.effect.sqlstate, messageOf(plan.effect.sqlstate))
      return true
    }
    return false
  }

  #login(frame: Frame): void {
    if (frame.type === 'K') this.#giveKey(frame)
    else this.#pass(frame.bytes)
    if (frame.type !== 'Z') return
    this.#phase = 'open'
    this.#lastBackend = this.#backend
    if (!this.#pool || !this.#backend || this.#pool.mode === 'session') return
    this.#pool.admit(this.#backend)
    this.#backend = undefined
  }

  /** A pooler gives a key of its own, for it does not know which backend will serve the client. */
  #giveKey({ bytes }: Frame): void {
    const given = this.#pool?.keys === 'own' ? message('K', randomBytes(8)) : bytes
    this.#cancelKey = Buffer.from(given.subarray(5))
    this.#pass(given)
  }

  #forward(frame: Frame): void {
    if (this.#backend) this.#backend.send(this.#session.toServer(frame))
    else if (this.#pool) this.#wait(frame, this.#pool)
  }

  #wait(frame: Frame, pool: Pool): void {
    // A client that copied in vain still sends the rest of its data; behind a pooler nobody is there to ignore it.
    if (this.#held.length === 0 && 'dcfHX'.includes(frame.type)) return
    this.#held.push(frame)
    if (this.#held.length === 1) pool.acquire(this)
  }

  #detach(): void {
    if (!this.#pool || !this.#backend || this.#pool.mode === 'session') return
    const backend = this.#backend
    this.#backend = undefined
    // The drain that would have resumed the client is from now on heard by the backend's next holder.
    this.#client.resume()
    this.#pool.release(backend)
  }

  #pass(bytes: Buffer): void {
    if (this.#swallows('down')) return
    this.#down.send(bytes)
    if (this.#down.congested) this.#backend?.pause()
  }

  /** Once bytes are lost the stream can never be mended, so the link stays severed when the hole is gone. */
  #swallows(direction: Direction): boolean {
    if (this.#severed.has(direction)) return true
    const hole = this.#around.weather.hole(this, direction)
    if (!hole) return false
    this.#severed.add(direction)
    hole.strike({ link: this })
    return true
  }

  #endAs(ending: Ending | 'fatal'): void {
    if (ending === 'fatal') this.#hangUp()
    else if (ending === 'hang') this.#severed.add('up').add('down')
    else this.cut(ending)
  }

  /** The client's end has come; inside a black hole the server does not hear of it. */
  #leave(): void {
    if (this.#phase !== 'closed' && this.#around.weather.hole(this, 'up')) this.#gone.add('client')
    else this.#close('fin')
  }

  #hangUp(): void {
    if (this.#close('fin')) this.#down.end()
  }

  #close(how: 'rst' | 'fin'): boolean {
    if (this.#phase === 'closed') return false
    this.#phase = 'closed'
    // A paused socket would never notice that the other side closes it too.
    this.#client.resume()
    this.#session.close()
    this.#pool?.forget(this)
    const backend = this.#backend
    this.#backend = undefined
    backend?.close(how)
    if (backend) this.#pool?.lost(backend)
    this.#around.closed(this)
    return true
  }
}
