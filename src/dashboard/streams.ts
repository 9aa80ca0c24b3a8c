import { Broadcast, type Read } from './stream.ts'

/** After so long a page comes again, and is asked again who it is. */
const lifeMs = 15 * 60_000
/** Proxies end what is silent for longer. */
const beatMs = 15_000
const most = { perUser: 30, inAll: 300 }
/** So many texts wait for a reader. */
const mostUnread = 50

/** The streams that are open. */
export class Streams {
  readonly broadcast: Broadcast
  readonly #open = new Map<string, number>()
  readonly #ends = new Set<() => void>()

  constructor(broadcast: Broadcast = new Broadcast()) {
    this.broadcast = broadcast
  }

  /** Counts one in; false: there are too many. */
  enter(user: string, end: () => void): boolean {
    const own = this.#open.get(user) ?? 0
    if (own >= most.perUser || this.#ends.size >= most.inAll) return false
    this.#open.set(user, own + 1)
    this.#ends.add(end)
    return true
  }

  leave(user: string, end: () => void): void {
    if (!this.#ends.delete(end)) return
    const own = (this.#open.get(user) ?? 1) - 1
    if (own > 0) this.#open.set(user, own)
    else this.#open.delete(user)
  }

  /** Ends all of them. */
  close(): void {
    for (const end of this.#ends) end()
    this.broadcast.close()
  }
}

interface Order {
  user: string
  reads: readonly { key: string; read: Read }[]
  signal: AbortSignal
}

/** A stream of events for one page; undefined: too many are open. */
export function openStream(streams: Streams, { user, reads, signal }: Order): ReadableStream<Uint8Array> | undefined {
  const encoder = new TextEncoder()
  const ends: (() => void)[] = []
  let out: ReadableStreamDefaultController<Uint8Array> | undefined
  const end = (): void => {
    streams.leave(user, end)
    for (const one of ends.splice(0)) one()
    try {
      out?.close()
    } catch {
      // The reader has gone before.
    }
    out = undefined
  }
  if (!streams.enter(user, end)) return undefined
  const send = (text: string): void => {
    // A reader that does not read would miss what changes last: it comes again, and gets all of it anew.
    if (out !== undefined && (out.desiredSize ?? 0) <= -mostUnread) return end()
    out?.enqueue(encoder.encode(text))
  }
  return new ReadableStream<Uint8Array>({
    start(controller) {
      out = controller
      send('retry: 1000\n\n')
      for (const [at, { key, read }] of reads.entries()) {
        ends.push(
          streams.broadcast.watch(key, read, (text) => send(`event: news\ndata: {"at":${at},"news":${text}}\n\n`)),
        )
      }
      const beat = setInterval(() => send(': beat\n\n'), beatMs).unref()
      const life = setTimeout(end, lifeMs).unref()
      signal.addEventListener('abort', end, { once: true })
      ends.push(
        () => clearInterval(beat),
        () => clearTimeout(life),
        () => signal.removeEventListener('abort', end),
      )
    },
    cancel: end,
  })
}
