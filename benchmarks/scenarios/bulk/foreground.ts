import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

/** One statement of the application: when it was due, and how long it took from then on. */
export interface Beat {
  at: number
  ms: number
}

/** An application in a process of its own, so that nobody's event loop is in its way. */
export class Foreground implements AsyncDisposable {
  readonly #child: ChildProcess

  private constructor(child: ChildProcess) {
    this.#child = child
  }

  static async start(url: string, rate: number): Promise<Foreground> {
    const main = fileURLToPath(new URL('foreground-main.ts', import.meta.url))
    const child = fork(main, [url, String(rate)], { execArgv: ['--import', 'jiti/register'] })
    await once(child, 'message')
    return new Foreground(child)
  }

  /** What it did since it was last asked. */
  async take(): Promise<Beat[]> {
    const answer = once(this.#child, 'message')
    this.#child.send('take')
    return ((await answer) as [Beat[]])[0]
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const gone = once(this.#child, 'exit')
    this.#child.send('end')
    await gone
  }
}

/** The value below which that part of the beats lies. */
export function percentile(beats: readonly Beat[], part: number): number {
  const sorted = beats.map(({ ms }) => ms).toSorted((a, b) => a - b)
  return sorted[Math.max(0, Math.ceil(sorted.length * part) - 1)] ?? Number.NaN
}
