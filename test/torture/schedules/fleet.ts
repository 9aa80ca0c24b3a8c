import { setTimeout as sleep } from 'node:timers/promises'
import type { TestDatabase } from '../../support/database.ts'
import { spawnWorker, type SpawnedWorker } from '../../support/worker.ts'

const profile = {
  worker: {
    concurrency: 1,
    lease: '1.5s',
    poll: '1s',
    noProgress: '10s',
    stop: '2s',
    jobs: { concurrency: 4, poll: '200ms' },
  },
  timeouts: { statement: '5s', lock: '1s', idleInTransaction: '4s' },
}

/** A schedule that is due every second, whose every tick counts. */
const everySecond = `const jobs = [defineJob({ name: 'ticked', args: { '~standard': { version: 1, vendor: 'torture', validate: (value) => ({ value }) } }, perform: () => undefined })]
const schedules = [defineSchedule({ name: 'every-second', cron: '* * * * * *', job: jobs[0], args: (tick) => ({ tick: tick.toISOString() }), missed: { all: 1000 }, overlap: 'allow' })]`

/** Clocks of workers, in turn: right, ten minutes ahead, ten minutes behind. */
const skews = [0, 600_000, -600_000]

const ticksOf = ({ events }: SpawnedWorker): number => events.count('schedule.ticked')

/** Worker processes that keep one schedule, to be killed and replaced. */
export class ClockFleet implements AsyncDisposable {
  readonly #db: TestDatabase
  readonly #route: (url: string) => string
  readonly #all: SpawnedWorker[] = []

  /** Clocks of the workers are ten minutes ahead, right, or ten minutes behind. */
  constructor(db: TestDatabase, route: (url: string) => string) {
    this.#db = db
    this.#route = route
  }

  async start(size: number): Promise<void> {
    for (let i = 0; i < size; i++) await this.spawn()
    await Promise.all(this.#all.map(({ events }) => events.event('worker.started')))
  }

  async spawn(): Promise<SpawnedWorker> {
    const skewMs = skews[this.#all.length % skews.length] ?? 0
    const worker = await spawnWorker({
      url: this.#route(this.#db.workerUrl),
      jobs: everySecond,
      schedules: '',
      profile,
      skewMs,
    })
    this.#all.push(worker)
    return worker
  }

  /** A worker that is at work, the one that has settled most ticks or any; waits for one. */
  async victim(which: 'settler' | 'any'): Promise<SpawnedWorker> {
    for (let i = 0; i < 1_000; i++) {
      const ready = this.#all.filter(
        ({ process: child, events }) =>
          child.exitCode === null && child.signalCode === null && events.count('worker.started') > 0,
      )
      const settlers = ready.toSorted((a, b) => ticksOf(b) - ticksOf(a))
      const found = which === 'settler' ? settlers[0] : ready[Math.floor(Math.random() * ready.length)]
      if (found !== undefined) return found
      await sleep(50)
    }
    throw new Error('no worker is there')
  }

  /** Ticks that workers said they had settled. */
  get settledBy(): number[] {
    return this.#all.map(({ events }) => events.count('schedule.ticked'))
  }

  async stop(): Promise<void> {
    for (const worker of this.#all) worker.kill('SIGTERM')
    await Promise.all(this.#all.map(({ exited }) => exited))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#all.map((worker) => worker[Symbol.asyncDispose]()))
  }
}
