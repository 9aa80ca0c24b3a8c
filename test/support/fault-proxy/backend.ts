import { connect, type Socket } from 'node:net'
import { Splitter, type Frame } from './frames.ts'
import { Lane } from './lane.ts'
import { cancelRequest, terminate } from './messages.ts'
import type { Shape } from './weather.ts'

/** Where the real server listens. */
export interface Upstream {
  host: string
  port: number
}

/** Whoever a backend serves now: one client, or the pool in which it waits. */
export interface Holder {
  hear(frame: Frame): void
  lost(backend: Backend): void
  drained(): void
  shapeUp(): Shape | undefined
}

/** One connection to the real server. */
export class Backend {
  readonly #socket: Socket
  readonly #lane: Lane
  readonly #splitter = new Splitter({ opening: false })
  #holder: Holder | undefined
  #key: Buffer | undefined

  constructor(upstream: Upstream, startup: Buffer, holder: Holder) {
    this.#holder = holder
    this.#socket = connect({ ...upstream, noDelay: true })
    this.#lane = new Lane({
      socket: this.#socket,
      shape: () => this.#holder?.shapeUp(),
      onDrain: () => this.#holder?.drained(),
    })
    this.#socket.on('data', (chunk) => this.#listen(chunk))
    this.#socket.on('error', ignoreBecauseCloseFollows)
    this.#socket.on('close', () => this.#holder?.lost(this))
    this.#lane.send(startup)
  }

  get socket(): Socket {
    return this.#socket
  }

  /** What a cancel request must carry to reach this backend. */
  get key(): Buffer | undefined {
    return this.#key
  }

  get congested(): boolean {
    return this.#lane.congested
  }

  send(bytes: Buffer): void {
    this.#lane.send(bytes)
  }

  serve(holder: Holder): void {
    this.#holder = holder
    this.#socket.resume()
  }

  pause(): void {
    this.#socket.pause()
  }

  resume(): void {
    this.#socket.resume()
  }

  close(how: 'rst' | 'fin'): void {
    this.#holder = undefined
    if (how === 'rst') {
      this.#socket.resetAndDestroy()
      return
    }
    this.#lane.end()
    this.#socket.resume()
  }

  /** Ends a session in which nothing is under way. */
  dismiss(): void {
    this.send(terminate())
    this.close('fin')
  }

  #listen(chunk: Buffer): void {
    for (const frame of this.#splitter.push(chunk)) {
      if (frame.type === 'K') this.#key = Buffer.from(frame.bytes.subarray(5))
      this.#holder?.hear(frame)
    }
  }
}

/** Asks the server to cancel what the backend with this key is doing; calls back when the server has taken note. */
export function cancel(upstream: Upstream, key: Buffer, onDone: () => void): Socket {
  const socket = connect(upstream)
  socket.on('error', ignoreBecauseCloseFollows)
  socket.on('close', onDone)
  socket.resume()
  return socket.end(cancelRequest(key))
}

export function ignoreBecauseCloseFollows(): void {}
