import { setTimeout as wait } from 'node:timers/promises'

/** Waits, or returns early and quietly when the signal aborts: a stop is not an error for the one who sleeps. */
export async function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  if (signal?.aborted === true) return
  try {
    await wait(ms, undefined, signal === undefined ? {} : { signal })
  } catch (error) {
    if (!(error instanceof Error && error.name === 'AbortError')) throw error
  }
}

/** Yields at once and then every `everyMs`, each wait varied by a tenth, until the signal aborts. */
export async function* ticks(everyMs: number, signal: AbortSignal): AsyncGenerator<void> {
  while (!signal.aborted) {
    yield
    await sleep(everyMs * (0.9 + Math.random() * 0.2), signal)
  }
}
