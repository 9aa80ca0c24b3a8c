import { fork, type ChildProcess } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { Setup } from './job-system.ts'
import { peerNode } from './peers.ts'
import type { Runner } from './runner.ts'

/** Without an id, no answer is wanted. */
export interface Call {
  id?: number
  name: keyof Runner
  args: unknown[]
}

export type Answer = { id: number; value: unknown } | { id: number; error: string } | Progress

/** Handlers have begun: how many in all, and when. */
export interface Progress {
  done: number
  at: number
}

type Method<K extends keyof Runner> = Runner[K] extends (...args: infer A) => Promise<infer R> ? [A, R] : never

interface Waiting {
  resolve: (value: unknown) => void
  reject: (error: Error) => void
}

const main = fileURLToPath(new URL('runner-main.ts', import.meta.url))
const root = fileURLToPath(new URL('../../..', import.meta.url))

/** Longer than any call takes; a queue that got stuck should not hold the benchmark for ever. */
const limitMs = 10 * 60_000

/** A runner process, seen from the benchmark. */
export class Child implements AsyncDisposable {
  readonly #name: string
  readonly #process: ChildProcess
  readonly #waiting = new Map<number, Waiting>()
  #calls = 0
  #stderr = ''
  /** Called with the progress that the worker of the process makes. */
  onProgress: (progress: Progress) => void = () => {}

  private constructor(name: string, process: ChildProcess) {
    this.#name = name
    this.#process = process
    process.on('message', (answer: Answer) => this.#hear(answer))
    process.stderr?.setEncoding('utf8').on('data', (text: string) => (this.#stderr += text))
    process.once('exit', (code, signal) => this.#fail(`ended with ${signal ?? code}`))
    process.once('error', ({ message }) => this.#fail(message))
  }

  static async start(setup: Setup): Promise<Child> {
    const { system, name } = setup.configuration
    const ours = system === 'sluice' || system === 'insert'
    const node = ours
      ? { execPath: process.execPath, execArgv: ['--import', 'jiti/register'] }
      : { execPath: peerNode(), execArgv: [] }
    const child = new Child(name, fork(main, { cwd: root, ...node, stdio: ['ignore', 'ignore', 'pipe', 'ipc'] }))
    try {
      await child.call('open', setup)
      return child
    } catch (error) {
      child.#process.kill('SIGKILL')
      throw error
    }
  }

  /** Calls a method of the runner and waits for its answer. */
  call<K extends keyof Runner>(name: K, ...args: Method<K>[0]): Promise<Method<K>[1]> {
    const id = ++this.#calls
    return new Promise<Method<K>[1]>((resolve, reject) => {
      const late = setTimeout(() => reject(this.#error(`${name} took longer than ${limitMs} ms`)), limitMs)
      const settled =
        <T>(settle: (value: T) => void) =>
        (value: T): void => {
          clearTimeout(late)
          settle(value)
        }
      this.#waiting.set(id, {
        resolve: settled((value) => resolve(value as Method<K>[1])),
        reject: settled(reject),
      })
      this.#process.send({ id, name, args } satisfies Call)
    })
  }

  /** Calls a method of the runner without an answer, which would disturb what is being measured. */
  tell<K extends keyof Runner>(name: K, ...args: Method<K>[0]): void {
    this.#process.send({ name, args } satisfies Call)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#process.exitCode !== null || this.#process.signalCode !== null) return
    const gone = new Promise((resolve) => this.#process.once('exit', resolve))
    // A peer that does not stop in time is not worth waiting for: its database is dropped anyway.
    const late = setTimeout(() => this.#process.kill('SIGKILL'), 5_000)
    this.#process.removeAllListeners('message')
    this.#process.once('message', () => this.#process.disconnect())
    this.#process.send({ id: ++this.#calls, name: 'close', args: [] } satisfies Call)
    await gone
    clearTimeout(late)
  }

  #hear(answer: Answer): void {
    if ('done' in answer) return this.onProgress(answer)
    const waiting = this.#waiting.get(answer.id)
    this.#waiting.delete(answer.id)
    if ('error' in answer) waiting?.reject(this.#error(answer.error))
    else waiting?.resolve(answer.value)
  }

  #fail(why: string): void {
    for (const { reject } of this.#waiting.values()) reject(this.#error(why))
    this.#waiting.clear()
  }

  #error(why: string): Error {
    return new Error(`${this.#name}: ${why}${this.#stderr === '' ? '' : `\n${this.#stderr.slice(-2_000)}`}`)
  }
}
