import type { AnyEvent } from './telemetry.ts'

interface Series {
  /** When the last one of it was let through. */
  shownAt: number
  leftOut: number
}

/** Of what goes on and on, such as an outage, one line a minute is enough. */
const againMs = 60_000
/** Several slots of a process notice the same moment; later it is another outage. */
const sameMomentMs = 5_000
const mostSeries = 100

/**
 * Thins out what a process says while its database is away: the first of each kind is let through, then one a minute,
 * each with the number of those before it that were left out. When the database is back, everything begins anew.
 */
export class Repeats {
  readonly #series = new Map<string, Series>()

  /** How many like it were left out before this one; undefined: leave this one out, too. */
  pass(event: AnyEvent, nowMs: number): number | undefined {
    if (event.event === 'connection.restored') return this.#end()
    const key = keyOf(event)
    if (key === undefined) return 0
    const series = this.#series.get(key)
    const since = series === undefined ? Number.POSITIVE_INFINITY : nowMs - series.shownAt
    const first = event.event === 'connection.lost' && event.payload.attempt === 1
    if (since >= (first ? sameMomentMs : againMs)) return this.#show(key, nowMs)
    if (series !== undefined) series.leftOut += 1
    return undefined
  }

  #show(key: string, nowMs: number): number {
    const leftOut = this.#series.get(key)?.leftOut ?? 0
    this.#series.delete(key)
    this.#series.set(key, { shownAt: nowMs, leftOut: 0 })
    // Messages may differ without end; the one that was shown longest ago is forgotten.
    const [oldest] = this.#series.keys()
    if (this.#series.size > mostSeries && oldest !== undefined) this.#series.delete(oldest)
    return leftOut
  }

  #end(): number {
    const leftOut = [...this.#series.values()].reduce((sum, series) => sum + series.leftOut, 0)
    this.#series.clear()
    return leftOut
  }
}

/** What makes two events alike; undefined: it stands for itself. */
function keyOf(event: AnyEvent): string | undefined {
  if (event.event === 'connection.lost') return `lost ${event.payload.purpose}`
  return event.event === 'warning' ? `warning ${event.payload.message}` : undefined
}
