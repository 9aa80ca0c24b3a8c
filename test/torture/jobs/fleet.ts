import { setTimeout as sleep } from 'node:timers/promises'
import type { EventName } from '../../../src/index.ts'
import type { TestDatabase } from '../../support/database.ts'
import { spawnWorker, type SpawnedWorker } from '../../support/worker.ts'
import { jobsText } from './mix.ts'

export const leaseMs = 1_500
/** How often a worker looks for jobs of the dead: a third of the lease, but no more than once a second. */
export const sweepMs = 1_000

/** Timings under torture: short leases, and sessions that the server ends when their worker is stopped for long. */
const profile = (concurrency: number): object => ({
  worker: {
    concurrency: 1,
    lease: leaseMs,
    poll: '1s',
    noProgress: '10s',
    stop: '2s',
    jobs: { concurrency, poll: '200ms' },
  },
  timeouts: { statement: '5s', lock: '1s', idleInTransaction: '4s' },
})

export interface JobFleetOptions {
  db: TestDatabase
  /** Where workers connect to; through the fault proxy, where there is one. */
  workerUrl: string
  /** How many processes there are at a time, and how many jobs each runs at once. */
  size: number
  concurrency: number
  pauseMs: number
  /** Module text that makes `jobs`, where it is not the usual mix. */
  jobs?: string
  package?: URL
}

/** Something that a worker said, and when by its own clock. */
export interface Said {
  pid: number
  atMs: number
  event: string
  jobId?: number
  attempt?: number
  workerId?: string
}

/** Several worker processes on one queue, to be killed, stopped and replaced. */
export class JobFleet implements AsyncDisposable {
  readonly #options: JobFleetOptions
  readonly #all: SpawnedWorker[] = []

  constructor(options: JobFleetOptions) {
    this.#options = options
  }

  async start(): Promise<void> {
    for (let i = 0; i < this.#options.size; i++) await this.spawn()
    await Promise.all(this.alive.map(({ events }) => events.event('worker.started')))
  }

  async spawn(): Promise<SpawnedWorker> {
    const { workerUrl: url, package: home, concurrency, pauseMs } = this.#options
    const worker = await spawnWorker({
      url,
      jobs: this.#options.jobs ?? jobsText({ pauseMs }),
      profile: profile(concurrency),
      ...(home === undefined ? {} : { package: home }),
    })
    this.#all.push(worker)
    return worker
  }

  get alive(): SpawnedWorker[] {
    return this.#all.filter(({ process: child }) => child.exitCode === null && child.signalCode === null)
  }

  /** How often an event was seen in all workers, also in those that are gone. */
  count(name: EventName): number {
    return this.#all.reduce((sum, { events }) => sum + events.count(name), 0)
  }

  /** What all workers said of one kind. */
  said(...names: EventName[]): Said[] {
    return this.#all.flatMap(({ pid, stderr }) =>
      stderr
        .filter((line) => names.some((name) => line.includes(`"event":"${name}"`)))
        .map((line) => JSON.parse(line) as Omit<Said, 'pid' | 'atMs'> & { time: string })
        .map(({ time, ...rest }) => ({ ...rest, pid, atMs: Date.parse(time) })),
    )
  }

  /** A worker that holds jobs right now, and which. */
  async holder(except: ReadonlySet<number> = new Set()): Promise<SpawnedWorker> {
    for (let i = 0; i < 500; i++) {
      const rows = await this.#options.db.query<{ pid: number }>(
        `select w.pid from sluice.job j join sluice.job_claim c on c.id = j.claim_id or (j.state = 0 and c.job_ids @> j.id)
         join sluice.worker w on w.id = c.worker_id group by w.pid order by count(*) * random() desc`,
      )
      const pids = rows.map(({ pid }) => pid).filter((pid) => !except.has(pid))
      const found = this.alive.find(({ pid }) => pids.includes(pid))
      if (found !== undefined) return found
      await sleep(20)
    }
    throw new Error(`no worker holds a job\n${this.lastWords()}`)
  }

  /** The jobs that the worker of a process holds. */
  async heldBy(pid: number): Promise<number[]> {
    const rows = await this.#options.db.query<{ id: string }>(
      `select j.id from sluice.job j join sluice.job_claim c on c.id = j.claim_id or (j.state = 0 and c.job_ids @> j.id)
       join sluice.worker w on w.id = c.worker_id where w.pid = $1`,
      [pid],
    )
    return rows.map(({ id }) => Number(id))
  }

  lastWords(): string {
    return this.alive.map(({ pid, stderr }) => `${pid}: ${stderr.slice(-5).join('\n  ')}`).join('\n')
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#all.map((worker) => worker[Symbol.asyncDispose]()))
  }
}
