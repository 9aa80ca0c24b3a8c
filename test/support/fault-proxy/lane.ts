import type { Socket } from 'node:net'
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import type { Shape } from './weather.ts'

const BACKLOG_LIMIT = 256 * 1024

interface LaneParts {
  socket: Socket
  shape: () => Shape | undefined
  /** Called when a congested lane has room again. */
  onDrain: () => void
}

/** One direction of a connection: writes bytes to a socket in order, late or in pieces if the weather says so. */
export class Lane {
  readonly #socket: Socket
  readonly #shape: () => Shape | undefined
  readonly #onDrain: () => void
  #run: Buffer[] = []
  #queue: { bytes: Buffer; shape: Shape; due: number }[] = []
  #queued = 0
  #delivering = false
  #ending = false

  constructor({ socket, shape, onDrain }: LaneParts) {
    this.#socket = socket
    this.#shape = shape
    this.#onDrain = onDrain
    socket.on('drain', onDrain)
  }

  get congested(): boolean {
    return this.#queued > BACKLOG_LIMIT || this.#socket.writableNeedDrain
  }

  send(bytes: Buffer): void {
    if (this.#run.length === 0) queueMicrotask(() => this.#flush())
    const last = this.#run.at(-1)
    // Messages that came in one segment lie side by side: sent as one piece, 10,000 rows need no 10,000 writes.
    if (last && last.buffer === bytes.buffer && last.byteOffset + last.length === bytes.byteOffset) {
      this.#run[this.#run.length - 1] = Buffer.from(last.buffer, last.byteOffset, last.length + bytes.length)
    } else {
      this.#run.push(bytes)
    }
  }

  /** Says goodbye after all that was sent has been delivered. */
  end(): void {
    this.#flush()
    this.#ending = true
    if (!this.#delivering) this.#socket.end()
  }

  #flush(): void {
    for (const bytes of this.#run.splice(0)) this.#deliver(bytes)
  }

  #deliver(bytes: Buffer): void {
    if (!this.#socket.writable) return
    const shape = this.#shape()
    if (!shape && !this.#delivering) {
      this.#socket.write(bytes)
      return
    }
    const { delayMs, piece } = shape ?? { delayMs: 0, piece: Infinity }
    this.#queue.push({ bytes, shape: { delayMs, piece }, due: performance.now() + delayMs })
    this.#queued += bytes.length
    if (!this.#delivering) void this.#deliverQueue()
  }

  async #deliverQueue(): Promise<void> {
    this.#delivering = true
    for (let next = this.#queue.shift(); next; next = this.#queue.shift()) {
      const waitMs = next.due - performance.now()
      if (waitMs > 0) await sleep(waitMs, undefined, { ref: false })
      await this.#deliverPieces(next.bytes, next.shape.piece)
      this.#queued -= next.bytes.length
    }
    this.#delivering = false
    if (this.#ending) this.#socket.end()
    else this.#onDrain()
  }

  async #deliverPieces(bytes: Buffer, piece: number): Promise<void> {
    if (piece >= bytes.length) {
      if (this.#socket.writable) this.#socket.write(bytes)
      return
    }
    for (let at = 0; at < bytes.length && this.#socket.writable; at += piece) {
      this.#socket.write(bytes.subarray(at, at + piece))
      // Without a pause the kernel would glue the pieces together again.
      await nextTurn()
    }
  }
}
