import type { AnyEvent, EventName, Events } from '../../src/index.ts'
import { patiently } from './patience.ts'

/** Collects events and lets a test wait for one; telemetry is the test signal. */
export class EventLog {
  readonly all: AnyEvent[] = []
  readonly #waiting = new Set<() => void>()

  push(event: AnyEvent): void {
    this.all.push(event)
    for (const wake of this.#waiting) wake()
  }

  count(name: EventName): number {
    return this.all.filter(({ event }) => event === name).length
  }

  /** What all events of that name said so far. */
  payloads<N extends EventName>(name: N): Events[N][] {
    return this.all.filter(({ event }) => event === name).map(({ payload }) => payload as Events[N])
  }

  /** The first event of that name (number `nth` from 1), now or later. */
  async event<N extends EventName>(name: N, { nth = 1, limitMs = 60_000 } = {}): Promise<Events[N]> {
    const found = (): AnyEvent | undefined => this.all.filter(({ event }) => event === name)[nth - 1]
    const already = found()
    if (already !== undefined) return already.payload as Events[N]
    return new Promise((resolve, reject) => {
      const stop = (): void => {
        this.#waiting.delete(check)
        clearTimeout(timer)
      }
      const check = (): void => {
        const event = found()
        if (event === undefined) return
        stop()
        resolve(event.payload as Events[N])
      }
      const timer = setTimeout(() => {
        stop()
        reject(new Error(`no "${name}" (number ${nth}) within ${patiently(limitMs)} ms; seen: ${this.#summary()}`))
      }, patiently(limitMs))
      this.#waiting.add(check)
    })
  }

  #summary(): string {
    const last = this.all.slice(-8).map(({ event, payload }) => `${event} ${JSON.stringify(payload)}`)
    return `${this.all.length} events, the last: ${last.join(' | ')}`
  }
}
