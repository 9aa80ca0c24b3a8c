import type { AnyEvent, EventOf } from './telemetry.ts'

/** An outage as the log has told of it. */
interface Outage {
  /** When a try failed last. */
  failedAt: number
  /** When the log said last that it goes on. */
  toldAt: number
  leftOut: number
  /** When each purpose was let through last. */
  purposes: Map<string, number>
  /** What was said to be wrong; a warning that ends so is about the same. */
  reasons: Set<string>
}

/** Of what goes on and on one line a minute is enough. */
const againMs = 60_000
/** Tries come every ten seconds at least; after so long without one it is another outage. */
const overMs = 30_000
/** Several slots of a process notice the same moment; a first try that fails later is news. */
const sameMomentMs = 5_000
const most = 100

/**
 * Thins out what a process says while its database is away. Let through are the first `connection.lost` of each purpose,
 * one a minute for all of them while it lasts, with the number of lines that were left out, and every
 * `connection.restored`. Warnings for the same reason count as such lines; others that repeat themselves word for word
 * are one a minute.
 */
export class Repeats {
  #outage: Outage | undefined
  /** Warnings, with when they were let through last and how often they were left out since. */
  readonly #warnings = new Map<string, { at: number; leftOut: number }>()

  /** How many lines were left out before this one; undefined: leave this one out, too. */
  pass(event: AnyEvent, nowMs: number): number | undefined {
    if (event.event === 'connection.lost') return this.#lost(event, nowMs)
    if (event.event === 'connection.restored') return this.#restored()
    return event.event === 'warning' ? this.#warned(event.payload.message, nowMs) : 0
  }

  #lost({ payload: { purpose, attempt, error } }: EventOf<'connection.lost'>, nowMs: number): number | undefined {
    const outage = this.#on(nowMs) ?? {
      failedAt: nowMs,
      toldAt: nowMs,
      leftOut: 0,
      purposes: new Map<string, number>(),
      reasons: new Set<string>(),
    }
    this.#outage = outage
    outage.failedAt = nowMs
    keep(outage.reasons, error.message)
    const since = nowMs - (outage.purposes.get(purpose) ?? Number.NEGATIVE_INFINITY)
    if (since === Number.POSITIVE_INFINITY || (attempt === 1 && since >= sameMomentMs)) {
      outage.purposes.set(purpose, nowMs)
      return 0
    }
    if (nowMs - outage.toldAt < againMs) {
      outage.leftOut += 1
      return undefined
    }
    outage.toldAt = nowMs
    const { leftOut } = outage
    outage.leftOut = 0
    return leftOut
  }

  #restored(): number {
    const leftOut = this.#outage?.leftOut ?? 0
    this.#outage = undefined
    return leftOut
  }

  #warned(message: string, nowMs: number): number | undefined {
    const outage = this.#on(nowMs)
    const [, reason] = /: (.*)$/s.exec(message) ?? []
    if (outage !== undefined && reason !== undefined) {
      if (!outage.reasons.has(reason)) {
        keep(outage.reasons, reason)
        return 0
      }
      outage.leftOut += 1
      return undefined
    }
    const before = this.#warnings.get(message)
    if (before !== undefined && nowMs - before.at < againMs) {
      before.leftOut += 1
      return undefined
    }
    this.#warnings.delete(message)
    this.#warnings.set(message, { at: nowMs, leftOut: 0 })
    // Messages may differ without end; the one that was let through longest ago is forgotten.
    const [oldest] = this.#warnings.keys()
    if (this.#warnings.size > most && oldest !== undefined) this.#warnings.delete(oldest)
    return before?.leftOut ?? 0
  }

  /** The outage, while it lasts. */
  #on(nowMs: number): Outage | undefined {
    return this.#outage !== undefined && nowMs - this.#outage.failedAt <= overMs ? this.#outage : undefined
  }
}

function keep(reasons: Set<string>, reason: string): void {
  if (reasons.size < most) reasons.add(reason)
}
