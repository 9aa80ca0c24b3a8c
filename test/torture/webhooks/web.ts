import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { builtPackage } from '../../support/worker.ts'
import { renewalsText } from './renewals.ts'

/** A process with an endpoint, which can be killed and comes back on the same port. */
export class Web implements AsyncDisposable {
  readonly #options: { url: string; package?: URL }
  #child: ChildProcess | undefined
  #port = 0

  constructor(options: { url: string; package?: URL }) {
    this.#options = options
  }

  get port(): number {
    return this.#port
  }

  async start(): Promise<void> {
    const home = this.#options.package ?? builtPackage
    const script = `
import { createServer } from 'node:http'
import { defineInbox, inboxHandler, Sluice } from '${new URL('index.js', home).href}'
${renewalsText({ pauseMs: 0 })}
const sluice = new Sluice({ timeouts: { statement: '5s', lock: '2s' } })
const webhook = inboxHandler(sluice, renewals, { timeout: '5s' })
// Connected and warm before the first request counts.
await sluice.inboxes.list()
const server = createServer((request, response) => void webhook.node(request, response))
server.listen(${this.#port}, '127.0.0.1', () => console.log(server.address().port))
`
    const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
      env: { ...process.env, SLUICE_DATABASE_URL: this.#options.url },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    this.#child = child
    const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string]
    this.#port = Number(line)
  }

  async kill(): Promise<void> {
    const child = this.#child
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    child.kill('SIGKILL')
    await once(child, 'exit')
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill()
  }
}
