import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { defineOperation, Sluice, sql, type EventName } from '../../src/index.ts'
import type { TestDatabase } from '../support/database.ts'
import { until } from '../support/wait.ts'
import { alone, spawnWorker, type SpawnedWorker } from '../support/worker.ts'

/** Timings under torture: short leases, and sessions that the server ends when their worker is stopped for long. */
const tortureProfile = (lease: string, idleInTransaction: string): object => ({
  worker: { concurrency: 1, lease, poll: '100ms', noProgress: '5s', stop: '2s' },
  timeouts: { statement: '3s', lock: '1s', idleInTransaction },
  governor: alone,
})

interface Shape {
  subBatchSize: number
  lanes: number
  /** How long the work of a sub-batch pauses inside of its transaction before it touches a row. */
  pauseMs: number
}

const shapeOf = ({ subBatchSize, lanes }: Shape) => ({
  name: 'count-once',
  table: 'counters',
  batchSize: 5_000,
  subBatchSize,
  lanes,
})

/**
 * Each row counts how often it was changed; the pause puts most faults into the middle of a transaction. A worker that
 * finds a file of this name stops itself there, before it touches a row.
 */
const stopFile = 'stop'
const operations = (shape: Shape): string => `
import { rmSync, existsSync } from 'node:fs'
const operations = [defineOperation({
  ...${JSON.stringify(shapeOf(shape))},
  async perform({ batch }) {
    if (existsSync('${stopFile}')) {
      rmSync('${stopFile}')
      process.kill(process.pid, 'SIGSTOP')
    } else await new Promise((resolve) => setTimeout(resolve, ${shape.pauseMs}))
    return batch.update(sql\`n = n + 1\`)
  },
})]`

export interface FleetOptions extends Shape {
  db: TestDatabase
  /** Where workers connect to; through the fault proxy, where there is one. */
  workerUrl: string
  /** How many processes there are at a time. */
  size: number
  /** After so long a worker is taken for dead; 1 s by default. */
  lease?: string
  /** How long the server lets a transaction idle before it ends the session; 3 s by default. */
  idleInTransaction?: string
  package?: URL
}

/** Several worker processes on one operation, to be killed, stopped and replaced. */
export class Fleet implements AsyncDisposable {
  readonly #options: FleetOptions
  readonly #all: SpawnedWorker[] = []
  operationId = ''

  constructor(options: FleetOptions) {
    this.#options = options
  }

  /** Makes the table, starts the operation and the workers. */
  async start(rows: number): Promise<void> {
    const { db } = this.#options
    await db.query('create table counters (id bigint primary key, n int not null default 0)')
    await db.query('insert into counters (id) select generate_series(1, $1::int)', [rows])
    await db.query('analyze counters')
    for (let i = 0; i < this.#options.size; i++) await this.spawn()
    this.operationId = await this.#startOperation()
  }

  async #startOperation(): Promise<string> {
    const countOnce = defineOperation({
      ...shapeOf(this.#options),
      perform: ({ batch }) => batch.update(sql`n = n + 1`),
    })
    await using sluice = new Sluice({ database: this.#options.db.url, operations: [countOnce] })
    return (await sluice.operations.start(countOnce)).id
  }

  async spawn(): Promise<SpawnedWorker> {
    const { workerUrl: url, package: home, lease = '1s', idleInTransaction = '3s' } = this.#options
    const worker = await spawnWorker({
      url,
      operations: operations(this.#options),
      profile: tortureProfile(lease, idleInTransaction),
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

  /** A worker that holds a batch right now, if one does. */
  async holder(except: ReadonlySet<number> = new Set()): Promise<SpawnedWorker | undefined> {
    const rows = await this.#options.db.query<{ pid: number }>(
      `select w.pid from sluice.batch b join sluice.worker w on w.id = b.worker_id where b.state = 'running' order by random()`,
    )
    const pids = new Set(rows.map(({ pid }) => pid).filter((pid) => !except.has(pid)))
    return this.alive.find(({ pid }) => pids.has(pid))
  }

  /** Lets a worker stop itself inside of its next transaction; gives the batch that it holds there. */
  async stopInside(worker: SpawnedWorker): Promise<string> {
    await writeFile(join(worker.folder, stopFile), '')
    await until('the worker stands still', async () => {
      const { stdout } = await promisify(execFile)('ps', ['-o', 'state=', '-p', String(worker.pid)])
      return stdout.startsWith('T')
    })
    return this.#options.db.value<string>(
      `select b.id::text from sluice.batch b join sluice.worker w on w.id = b.worker_id where w.pid = $1`,
      [worker.pid],
    )
  }

  /** Waits until another worker has done something in a batch that one stands still in. */
  async overtaken(batchId: string, { pid }: SpawnedWorker): Promise<void> {
    const held = `select b.checkpoint, w.pid from sluice.batch b left join sluice.worker w on w.id = b.worker_id
      where b.id = $1`
    const [before] = await this.#options.db.query<{ checkpoint: unknown }>(held, [batchId])
    await until('another worker has gone on', async () => {
      const [now] = await this.#options.db.query<{ checkpoint: unknown; pid: number | null }>(held, [batchId])
      const moved = JSON.stringify(now?.checkpoint) !== JSON.stringify(before?.checkpoint)
      return now === undefined || (now.pid !== pid && moved)
    })
  }

  /** Rows changed so far, by the engine's own account. */
  async progress(): Promise<number> {
    return this.#options.db.value<number>(
      `select coalesce(sum(rows_changed), 0)::int from (
         select rows_changed from sluice.operation union all select rows_changed from sluice.batch
         union all select rows_changed from sluice.operation_history) s`,
    )
  }

  /** Waits until that many rows are changed, or the operation has ended. */
  async reached(rows: number, limitMs = 120_000): Promise<void> {
    const end = Date.now() + limitMs
    while ((await this.progress()) < rows) {
      if (Date.now() > end) throw new Error(`stuck at ${await this.progress()} of ${rows} rows\n${this.#lastWords()}`)
      await sleep(30)
    }
  }

  /** Waits for the end of the operation. */
  async finished(limitMs = 120_000): Promise<void> {
    const end = Date.now() + limitMs
    const ended = (): Promise<number> => this.#options.db.value('select count(*)::int from sluice.operation_history')
    while ((await ended()) === 0) {
      if (Date.now() > end) throw new Error(`not finished within ${limitMs} ms\n${this.#lastWords()}`)
      await sleep(50)
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#all.map((worker) => worker[Symbol.asyncDispose]()))
  }

  #lastWords(): string {
    return this.#all.map(({ pid, stderr }) => `${pid}: ${stderr.slice(-5).join('\n  ')}`).join('\n')
  }
}
