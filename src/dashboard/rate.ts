/** So many requests at once, and how many more per second. */
export interface Allowance {
  burst: number
  perSecond: number
}

/** A page asks for two or three things every few seconds; a script that asks without end is slowed down. */
export const allowances = {
  look: { burst: 200, perSecond: 40 },
  change: { burst: 30, perSecond: 2 },
} as const satisfies Record<string, Allowance>

interface Bucket {
  tokens: number
  at: number
}

/** Who is not heard of for a while is forgotten, so that names that somebody makes up take no memory. */
const mostBuckets = 10_000

/** Counts requests by who sends them. */
export class Rate {
  readonly #allowance: Allowance
  readonly #buckets = new Map<string, Bucket>()

  constructor(allowance: Allowance) {
    this.#allowance = allowance
  }

  /** Whether one more is allowed now. */
  take(who: string, nowMs: number): boolean {
    const { burst, perSecond } = this.#allowance
    const bucket = this.#buckets.get(who) ?? { tokens: burst, at: nowMs }
    const tokens = Math.min(burst, bucket.tokens + (Math.max(0, nowMs - bucket.at) / 1_000) * perSecond)
    this.#buckets.delete(who)
    if (this.#buckets.size >= mostBuckets) this.#buckets.clear()
    this.#buckets.set(who, { tokens: tokens < 1 ? tokens : tokens - 1, at: nowMs })
    return tokens >= 1
  }
}
