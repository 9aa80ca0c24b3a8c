import type { EventName, Events } from './events.ts'

/** An event of one name with its payload. */
export type EventOf<N extends EventName> = { event: N; payload: Events[N] }

/** What a subscriber to all events receives. */
export type AnyEvent = { [N in EventName]: EventOf<N> }[EventName]

/**
 * The one place where events pass. Emitting never throws and never waits: a broken subscriber must not harm the work
 * that it watches.
 */
export class Telemetry {
  readonly #all = new Set<(event: AnyEvent) => void>()

  emit<N extends EventName>(event: N, payload: Events[N]): void {
    for (const subscriber of this.#all) {
      try {
        subscriber({ event, payload } as AnyEvent)
      } catch (error) {
        queueMicrotask(() => process.emitWarning(`A Sluice event subscriber threw on "${event}": ${String(error)}`))
      }
    }
  }

  /** Calls `subscriber` with every event until the returned function is called. */
  onAny(subscriber: (event: AnyEvent) => void): () => void {
    this.#all.add(subscriber)
    return () => void this.#all.delete(subscriber)
  }

  /** Calls `subscriber` with each event of one name until the returned function is called. */
  on<N extends EventName>(name: N, subscriber: (payload: Events[N]) => void): () => void {
    return this.onAny(({ event, payload }) => {
      if (event === name) subscriber(payload as Events[N])
    })
  }
}
