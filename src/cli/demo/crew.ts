import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { extname } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

/** A line of a worker's log. */
export type LogLine = Readonly<Record<string, unknown>> & { event?: unknown }

interface Member {
  child: ChildProcess
  workerId: string | undefined
  lastWords: string[]
}

const main = fileURLToPath(new URL(`../main${extname(import.meta.url)}`, import.meta.url))
const stopMs = 5_000

/** The demo's worker processes: real ones, of the same command line. They are known by their log and end with us. */
export class Crew implements AsyncDisposable {
  readonly #members: Member[] = []
  readonly #onLine: (line: LogLine) => void
  readonly #killAll = (): void => this.#living().forEach(({ child }) => void child.kill('SIGKILL'))
  #broken: string | undefined

  constructor(onLine: (line: LogLine) => void) {
    this.#onLine = onLine
    process.on('exit', this.#killAll)
  }

  /** Starts one worker. The database goes by the environment: arguments are for all to see. */
  hire({ configFile, url }: { configFile: string; url: string }): void {
    const child = spawn(process.execPath, [...process.execArgv, main, 'worker', '--config', configFile], {
      env: { ...process.env, SLUICE_DATABASE_URL: url },
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    const member: Member = { child, workerId: undefined, lastWords: [] }
    this.#members.push(member)
    createInterface({ input: child.stderr }).on('line', (text) => this.#hear(member, text))
    child.on('error', (error) => (this.#broken ??= `a worker could not be started: ${error.message}`))
    child.on('exit', (code) => {
      if (code !== null && code !== 0)
        this.#broken ??= `a worker ended with exit code ${code}: ${member.lastWords.join(' ')}`
    })
  }

  /** Why the demo cannot go on, if a worker ended by itself. */
  get broken(): string | undefined {
    return this.#broken
  }

  /** Kills a worker as a power failure would. Undefined when it is not known, or gone. */
  kill(workerId: string): number | undefined {
    const found = this.#living().find((member) => member.workerId === workerId)
    return found?.child.kill('SIGKILL') === true ? found.child.pid : undefined
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const living = this.#living()
    const gone = Promise.all(living.map(({ child }) => once(child, 'exit')))
    for (const { child } of living) child.kill('SIGTERM')
    const patience = setTimeout(this.#killAll, stopMs)
    await gone
    clearTimeout(patience)
    process.off('exit', this.#killAll)
  }

  #living(): Member[] {
    return this.#members.filter(
      ({ child }) => child.pid !== undefined && child.exitCode === null && child.signalCode === null,
    )
  }

  #hear(member: Member, text: string): void {
    member.lastWords = [...member.lastWords, text].slice(-3)
    const line = parseLine(text)
    if (line?.event === 'worker.started') member.workerId = String(line['workerId'])
    if (line !== undefined) this.#onLine(line)
  }
}

function parseLine(text: string): LogLine | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? { ...value } : undefined
  } catch {
    // Node's own warnings are no JSON; they are kept as last words only.
    return undefined
  }
}
