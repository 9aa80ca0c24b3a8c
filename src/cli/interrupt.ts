import { exitCodes } from './exit-codes.ts'

type StopSignal = 'SIGINT' | 'SIGTERM'

/** Thrown where work was cut short by a signal to this process. */
export class Interrupted extends Error {
  override readonly name = 'Interrupted'
  readonly exitCode: number

  constructor(signal: StopSignal) {
    super(`stopped by ${signal}`)
    this.exitCode = exitCodes[signal]
  }
}

/** npm passes on a Ctrl-C that the terminal has sent to the whole group already: that is one wish, not two. */
const echoMs = 500

/**
 * Listens for SIGINT and SIGTERM, also as process 1 of a container, where nothing happens by default. The first aborts
 * the signal, with {@link Interrupted} as its reason; the second ends the process at once.
 */
export function listenForInterrupts(): { signal: AbortSignal } & Disposable {
  const controller = new AbortController()
  let firstAt = 0
  const stop = (name: StopSignal): void => {
    if (!controller.signal.aborted) {
      firstAt = Date.now()
      controller.abort(new Interrupted(name))
    } else if (Date.now() - firstAt > echoMs) {
      process.exit(exitCodes[name])
    }
  }
  process.on('SIGINT', stop).on('SIGTERM', stop)
  return {
    signal: controller.signal,
    [Symbol.dispose]: () => void process.off('SIGINT', stop).off('SIGTERM', stop),
  }
}

/** Does the work, or throws the signal's reason as soon as it aborts; the caller then disposes of what the work used. */
export async function interruptible<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  signal.throwIfAborted()
  const over = new AbortController()
  const aborted = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true, signal: over.signal })
  })
  try {
    return await Promise.race([work(), aborted])
  } finally {
    over.abort()
  }
}
