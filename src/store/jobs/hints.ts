import { createHash, randomUUID } from 'node:crypto'

/**
 * Hints: what workers learn by NOTIFY, and when they act on it.
 *
 * Every notification wakes every worker that listens. If all of them looked for jobs at once, one job would cost as many
 * claims as there are workers. So a worker waits for a random part of its window before it looks, and a worker that has
 * looked and left nothing says so: the others then stay asleep. The window adapts, as it does for senders that share a
 * cable. It doubles when a worker looks in vain, because others were faster, and halves when it finds something. A worker
 * that is alone has no window and looks at once; among many, those that found something last look first.
 *
 * A look covers only the hints that came before it. Each hint has an id, everybody gets them in the same order, and the
 * word that nothing is left names the last one that the look has covered.
 *
 * A hint only saves time. A job whose hint is lost is found by the next poll.
 */
export type Hint =
  /** There may be new jobs, in these queues or, if undefined, in any. */
  | { id: string; queues?: readonly string[] }
  /** A worker of this group has looked since the hint `id` and left nothing. */
  | { id: string; nothingLeftFor: string }

/** There may be new jobs in any queue. */
export const newJobs = (): string => JSON.stringify({ id: randomUUID() } satisfies Hint)

/** Nothing is left of what the hint with this id, and those before it, were about. */
export const nothingLeft = (id: string, group: string): string =>
  JSON.stringify({ id, nothingLeftFor: group } satisfies Hint)

/** Which workers find the same jobs: those with the same queues and the same definitions on the same tables. */
export function groupOf(worker: {
  schema: string
  queues: readonly string[] | undefined
  jobs: readonly string[]
}): string {
  const { schema, queues, jobs } = worker
  const text = JSON.stringify([schema, queues?.toSorted() ?? null, jobs.toSorted()])
  return createHash('sha256').update(text).digest('base64url').slice(0, 16)
}

/** What a payload says. One that is not ours says that there may be something: looking in vain does no harm. */
export function readHint(payload: string): Hint {
  try {
    const hint: unknown = JSON.parse(payload)
    if (typeof hint === 'object' && hint !== null && 'id' in hint && typeof hint.id === 'string') {
      const { id } = hint
      if ('nothingLeftFor' in hint) return { id, nothingLeftFor: String(hint.nothingLeftFor) }
      return 'queues' in hint && Array.isArray(hint.queues) ? { id, queues: hint.queues.map(String) } : { id }
    }
  } catch {
    // Anybody may notify on our channel.
  }
  return { id: randomUUID() }
}

/** Windows follow the time that a look takes, within limits: on a busy server the word of others comes late, too. */
const [leastWindowMs, mostWindowMs, longestMs] = [8, 100, 1_000]

/** The next window after a look that took so long. */
export function nextWindow(windowMs: number, { found, tookMs }: { found: boolean; tookMs: number }): number {
  if (found) return windowMs > 1 ? windowMs / 2 : 0
  const [least, most] = [Math.max(leastWindowMs, 3 * tookMs), Math.max(mostWindowMs, 30 * tookMs)]
  return Math.min(longestMs, most, Math.max(least, windowMs * 2))
}

/** How long a worker waits; `random` is between 0 and 1. Short waits are rare: many with a window meet one without. */
export const waitIn = (windowMs: number, random: number): number => windowMs * Math.sqrt(random)

/** What a worker has to know of itself to tell whether a hint is for it. */
interface Hearer {
  group: string
  /** Whether it claims from any of these queues; undefined: from any queue at all. */
  serves: (queues: readonly string[] | undefined) => boolean
}

/** Decides when one worker looks after a hint. */
export class HintWindow {
  readonly #look: () => void
  readonly #random: () => number
  #windowMs = 0
  #timer: NodeJS.Timeout | undefined
  #last: string | undefined

  constructor(look: () => void, random: () => number = Math.random) {
    this.#look = look
    this.#random = random
  }

  /** The last hint of new jobs. */
  get last(): string | undefined {
    return this.#last
  }

  /** Reads a notification, as a worker that is of this group and serves some queues. */
  hear(payload: string, { group, serves }: Hearer): void {
    const hint = readHint(payload)
    if (!('nothingLeftFor' in hint)) {
      if (serves(hint.queues)) this.open(hint.id)
    } else if (hint.nothingLeftFor === group) this.close(hint.id)
  }

  /** There may be new jobs: looks at once or soon. */
  open(id: string): void {
    this.#last = id
    if (this.#timer !== undefined) return
    const waitMs = waitIn(this.#windowMs, this.#random())
    if (waitMs < 1) return this.#look()
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      this.#look()
    }, waitMs)
    // A worker that has stopped does not stay for the sake of a hint.
    this.#timer.unref()
  }

  /** Another worker has looked since this hint and left nothing. If another hint came after it, that one counts. */
  close(id: string): void {
    if (id !== this.#last) return
    clearTimeout(this.#timer)
    this.#timer = undefined
  }

  /** The look is over. */
  looked(look: { found: boolean; tookMs: number }): void {
    this.#windowMs = nextWindow(this.#windowMs, look)
  }
}
