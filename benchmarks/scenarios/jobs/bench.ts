import { randomBytes } from 'node:crypto'
import { connected, inDatabase } from '../../database.ts'
import { Child } from './child.ts'
import type { Configuration } from './job-system.ts'

/** How much of everything is measured. */
export interface Sizes {
  rounds: number
  sweepRounds: number
  warmUpJobs: number
  drainJobs: number
  snapshotJobs: number
  pickupSamples: number
  enqueueMs: number
  sizeJobs: number
}

export const fullSizes: Sizes = {
  rounds: 5,
  sweepRounds: 2,
  warmUpJobs: 10_000,
  drainJobs: 100_000,
  snapshotJobs: 200_000,
  pickupSamples: 200,
  enqueueMs: 2_000,
  sizeJobs: 1_000_000,
}

/** Shows that everything runs, and roughly where things stand, within two minutes. */
export const smallSizes: Sizes = {
  rounds: 1,
  sweepRounds: 0,
  warmUpJobs: 1_000,
  drainJobs: 10_000,
  snapshotJobs: 6_000,
  pickupSamples: 30,
  enqueueMs: 500,
  sizeJobs: 20_000,
}

/** The servers that a benchmark uses, and how much it measures. */
export interface Bench {
  /** A PostgreSQL server on which databases may be made. */
  postgres: string
  /** There unless BullMQ is left out. */
  redis: string | undefined
  sizes: Sizes
  say: (line: string) => void
}

/** Where the jobs of one run live; disposing of it removes them. */
interface Store extends AsyncDisposable {
  url: string
}

/** One system with nothing in it yet, in a database and a process of its own. */
export class Stage implements AsyncDisposable {
  readonly #configuration: Configuration
  readonly #store: Store
  readonly #children: Child[] = []
  /** Known once there is a worker. */
  hotTables: string[] = []

  private constructor(configuration: Configuration, store: Store) {
    this.#configuration = configuration
    this.#store = store
  }

  static async set(bench: Bench, configuration: Configuration): Promise<Stage> {
    const store = configuration.system === 'bullmq' ? sharedRedis(bench) : await freshDatabase(bench.postgres)
    return new Stage(configuration, store)
  }

  /** Of the database that this run has to itself; a Redis has none of the things that one would look up in it. */
  get database(): string | undefined {
    return this.#configuration.system === 'bullmq' ? undefined : this.#store.url
  }

  /** Starts a process that holds the system, and makes what the system needs in its store. */
  async worker(): Promise<Child> {
    const worker = await this.#child()
    this.hotTables = await worker.call('prepare')
    return worker
  }

  /** The same, and a second process beside it. */
  async workerAndProducer(): Promise<[Child, Child]> {
    return Promise.all([this.worker(), this.#child()])
  }

  /** The same start for everyone: statistics there, nothing dead, nothing dirty. */
  async settle(): Promise<void> {
    if (this.database === undefined) return
    await connected(this.database, async (client) => {
      await client.query('vacuum (analyze)')
      await client.query('checkpoint')
    })
  }

  async #child(): Promise<Child> {
    const child = await Child.start({ configuration: this.#configuration, url: this.#store.url })
    this.#children.push(child)
    return child
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#children.map((child) => child[Symbol.asyncDispose]()))
    await this.#store[Symbol.asyncDispose]()
  }
}

async function freshDatabase(server: string): Promise<Store> {
  const name = `bench_${randomBytes(6).toString('hex')}`
  await connected(server, (client) => client.query(`create database ${name}`))
  return {
    url: inDatabase(server, name),
    [Symbol.asyncDispose]: async () => {
      await connected(server, (client) => client.query(`drop database ${name} with (force)`))
    },
  }
}

/** Emptied by the system itself when it prepares. */
function sharedRedis({ redis }: Bench): Store {
  if (redis === undefined) throw new Error('no Redis was started')
  return { url: redis, [Symbol.asyncDispose]: async () => {} }
}
