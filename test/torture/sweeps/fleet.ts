import { setTimeout as sleep } from 'node:timers/promises'
import type { EventName } from '../../../src/index.ts'
import type { TestDatabase } from '../../support/database.ts'
import { spawnWorker, type SpawnedWorker } from '../../support/worker.ts'

export const leaseMs = 1_500

const profile = {
  worker: { concurrency: 1, lease: leaseMs, poll: '100ms', noProgress: '10s', stop: '2s' },
  timeouts: { statement: '5s', lock: '2s', idleInTransaction: '4s' },
} as const

interface FleetOptions {
  db: TestDatabase
  sweeps: string
  size: number
  package?: URL
}

/** Several worker processes on the same sweeps, to be killed, stopped and replaced. */
export class SweepFleet implements AsyncDisposable {
  readonly #options: FleetOptions
  readonly #all: SpawnedWorker[] = []

  constructor(options: FleetOptions) {
    this.#options = options
  }

  async start(): Promise<void> {
    for (let i = 0; i < this.#options.size; i++) await this.spawn()
  }

  async spawn(): Promise<void> {
    const { db, sweeps, package: home } = this.#options
    const at = home === undefined ? {} : { package: home }
    this.#all.push(await spawnWorker({ url: db.workerUrl, sweeps, profile, ...at }))
  }

  get alive(): SpawnedWorker[] {
    return this.#all.filter(({ process: child }) => child.exitCode === null && child.signalCode === null)
  }

  /** How often an event was seen in all workers, also in those that are gone; of rows, where it counts rows. */
  count(name: EventName): number {
    return this.#all
      .flatMap(({ events }) => events.all.filter(({ event }) => event === name))
      .reduce((sum, { payload }) => sum + ('count' in payload ? payload.count : 1), 0)
  }

  /** Kills a worker that has claimed rows, and puts another one in its place. */
  async kill(asleep: ReadonlySet<number>): Promise<void> {
    await sleep(Math.random() * 15)
    const victim = await this.#freeze(asleep)
    victim.kill('SIGKILL')
    await victim.exited
    await this.spawn()
  }

  /** Puts a worker that has claimed rows to sleep for longer than its lease. */
  async stop(asleep: Set<number>, nth: number): Promise<{ woken: Promise<void> }> {
    const victim = await this.#freeze(asleep)
    asleep.add(victim.pid)
    const wake = async (): Promise<void> => {
      await sleep(leaseMs * 2 + (nth % 3) * 1_000)
      victim.kill('SIGCONT')
      await sleep(500)
      asleep.delete(victim.pid)
    }
    return { woken: wake() }
  }

  /** A worker that has claimed rows, stopped, so that it has them still. */
  async #freeze(except: ReadonlySet<number>): Promise<SpawnedWorker> {
    for (const end = Date.now() + 60_000; Date.now() < end; await sleep(20)) {
      const holders = await this.#holders()
      const victim = this.alive.find(({ pid }) => holders.includes(pid) && !except.has(pid))
      if (victim === undefined) continue
      victim.kill('SIGSTOP')
      if ((await this.#holders()).includes(victim.pid)) return victim
      victim.kill('SIGCONT')
    }
    throw new Error(`no worker has claimed rows\n${this.lastWords()}`)
  }

  /** The processes that have claimed rows right now, in no order. */
  async #holders(): Promise<number[]> {
    const rows = await this.#options.db.query<{ pid: number }>(
      `select w.pid from sluice.sweep_claim c join sluice.worker w on w.id = c.worker_id
       group by w.pid order by random()`,
    )
    return rows.map(({ pid }) => pid)
  }

  lastWords(): string {
    return this.alive.map(({ pid, stderr }) => `${pid}: ${stderr.slice(-5).join('\n  ')}`).join('\n')
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#all.map((worker) => worker[Symbol.asyncDispose]()))
  }
}
