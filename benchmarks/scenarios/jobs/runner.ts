import { setTimeout as sleep } from 'node:timers/promises'
import { now, type JobSystem, type Setup } from './job-system.ts'
import { openSystem } from './systems/open.ts'

/** How a queue of preloaded jobs was emptied. */
export interface Drained {
  /** From the start of the worker until the queue holds no more job to do. */
  ms: number
  /** From the handler that left `tail` jobs to the last one. */
  tailMs: number
}

/** Told when handlers have begun: how many in all, and when. */
type Listener = (done: number, at: number) => void

const perCall = 1_000

/** Long enough to open a pool's connections and to compile. */
const warmUpMs = 500

/** Holds one system in a process of its own and does what the benchmark tells it. */
export class Runner {
  readonly #report: Listener
  #system: JobSystem | undefined
  #setup: Setup | undefined
  #done = 0
  #heard: Listener = () => {}
  #sentAt: number[] = []
  #worked = 0

  constructor(report: Listener) {
    this.#report = report
  }

  async open(setup: Setup): Promise<void> {
    this.#setup = setup
    this.#system = await openSystem(setup)
  }

  async prepare(): Promise<string[]> {
    await this.#opened().prepare()
    return this.#opened().hotTables
  }

  /** A worker that has run for a while is what everyone has in production: a first drain compiles its code. */
  async warmUp(jobs: number): Promise<void> {
    await this.fill(jobs)
    await this.drain(jobs, 0)
    await this.#opened().close()
    this.#done = 0
    if (this.#setup !== undefined) await this.open(this.#setup)
  }

  /** Enqueues in bulk. */
  async fill(jobs: number): Promise<void> {
    for (let left = jobs; left > 0; left -= perCall) await this.#opened().enqueueBulk(Math.min(perCall, left))
  }

  async drain(jobs: number, tail: number): Promise<Drained> {
    const began = now()
    const over = this.#reach(jobs, jobs - tail)
    await this.#opened().startWorker((more) => this.#ran(more))
    const tailMs = await over
    while ((await this.#opened().left()) > 0) await sleep(5)
    const ms = now() - began
    if (this.#done !== jobs) throw new Error(`${jobs} jobs were enqueued, and ${this.#done} were run`)
    return { ms, tailMs }
  }

  /** Starts the worker and reports whenever `every` more jobs have begun. */
  async work(every: number): Promise<void> {
    let reported = Math.floor(this.#done / every)
    this.#heard = (done, at) => {
      if (Math.floor(done / every) === reported) return
      reported = Math.floor(done / every)
      this.#report(done, at)
    }
    if (this.#done === 0) await this.#opened().startWorker((more) => this.#ran(more))
  }

  /** Enqueues one job and remembers when. */
  async enqueueOne(): Promise<void> {
    this.#sentAt.push(now())
    await this.#opened().enqueueOne()
  }

  async sentAt(): Promise<number[]> {
    return this.#sentAt.splice(0)
  }

  /** Enqueues jobs from several callers at once for a while; gives jobs per second. */
  async enqueueFor(ms: number, callers: number, jobsPerCall: number): Promise<number> {
    const system = this.#opened()
    const enqueue = jobsPerCall === 1 ? () => system.enqueueOne() : () => system.enqueueBulk(jobsPerCall)
    const rate = async (forMs: number): Promise<number> => {
      const began = now()
      let calls = 0
      const caller = async (): Promise<void> => {
        for (; now() - began < forMs; calls++) await enqueue()
      }
      await Promise.all(Array.from({ length: callers }, caller))
      return (calls * jobsPerCall * 1_000) / (now() - began)
    }
    await rate(warmUpMs)
    return rate(ms)
  }

  /** Enqueues in bulk, at most `ahead` jobs before the worker. */
  async produce(jobs: number, ahead: number): Promise<void> {
    for (let sent = 0; sent < jobs; sent += perCall) {
      while (sent - this.#worked > ahead) await sleep(1)
      await this.#opened().enqueueBulk(perCall)
    }
  }

  /** How far the worker has come. */
  async worked(jobs: number): Promise<void> {
    this.#worked = jobs
  }

  async close(): Promise<void> {
    await this.#system?.close()
  }

  #ran(jobs: number): void {
    this.#done += jobs
    this.#heard(this.#done, now())
  }

  /** Waits for the last job; gives the time since the job before the tail. */
  #reach(jobs: number, mark: number): Promise<number> {
    let markedAt = now()
    return new Promise((resolve) => {
      this.#heard = (done, at) => {
        if (done <= mark) markedAt = at
        if (done >= jobs) resolve(at - markedAt)
      }
    })
  }

  #opened(): JobSystem {
    if (this.#system === undefined) throw new Error('no system is open')
    return this.#system
  }
}
