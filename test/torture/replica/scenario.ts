import { setTimeout as sleep } from 'node:timers/promises'
import { defineOperation, Sluice, sql, type Duration } from '../../../src/index.ts'
import { testDatabase, type TestDatabase } from '../../support/database.ts'
import type { Pair } from '../../support/replica.ts'
import { until } from '../../support/wait.ts'
import { spawnWorker, testProfile } from '../../support/worker.ts'

const shape = { name: 'fill', table: 'documents', batchSize: 20_000, subBatchSize: 500 }
const fill = defineOperation({ ...shape, perform: ({ batch }) => batch.update(sql`n = n + 1`) })

const worker = `
const operations = [defineOperation({
  ...${JSON.stringify(shape)},
  perform: ({ batch }) => batch.update(sql\`n = n + 1\`),
})]`

export interface ReplicaPlan {
  pair: Pair
  rows: number
  /** How long the replica stands still, at least. */
  freezeMs: number
  /** Limits for WAL that is not replayed. */
  soft: number
  hard: number
  /** Limits for the lag in time; without them, the usual ones. */
  lag?: { soft: Duration; hard: Duration }
  /** How often the governor looks; without it, once a second. */
  every?: Duration
  /** What the operation may log in a second, so that its speed does not depend on the machine. */
  walBytesPerSecond?: number
}

/** What was seen at one moment. */
export interface Sight {
  atMs: number
  lagBytes: number
  status: string
  rows: number
}

export interface ReplicaOutcome {
  rows: number
  wrong: number
  status: string
  /** Held while the replica stood still, and after so long. */
  held: boolean
  holdAfterMs: number | undefined
  /** Between the moment at which the lag was beyond its hard limit and the hold; below zero: the hold came first. */
  holdAfterHardMs: number | undefined
  mostLagBytes: number
  hardLimit: number
  /** WAL of the largest sub-batch. */
  subBatchWal: number
  /** From the end of the standstill to the first row that was changed after it. */
  resumedAfterMs: number | undefined
  sights: Sight[]
}

/** Lets an operation run, freezes the replica in the middle of it, lets it go on, and watches all the while. */
export async function freezeReplica({
  pair,
  rows,
  freezeMs,
  soft,
  hard,
  lag,
  every,
  ...budget
}: ReplicaPlan): Promise<ReplicaOutcome> {
  await using db = await testDatabase(pair.primary.url)
  await db.query(`create table documents (id bigint primary key, n int not null default 0, body text)`)
  await db.query(`insert into documents (id, body) select n, repeat('x', 150) from generate_series(1, $1::int) n`, [
    rows,
  ])
  await db.query('create index on documents (n)')
  await db.query('analyze documents')
  await db.query('checkpoint')
  await db.query('grant pg_read_all_stats to test_worker')
  await until('the replica has caught up', async () => (await pair.lagBytes()) === 0)
  const quiet = { activeSessions: false, commitTime: false, checkpoints: false }
  const limits = { replicaBytes: { soft, hard }, ...(lag && { replicaLag: lag }), ...quiet }
  const patterns = `const patterns = ${JSON.stringify({ governor: { limits, ...(every && { every }) }, budget })}`
  await using running = await spawnWorker({ url: db.workerUrl, operations: worker, patterns, profile: testProfile })
  await running.events.event('worker.started')
  const watching = new Watch(db, pair)
  await startFill(db.url)
  await running.events.event('sub-batch.committed', { nth: 20 })
  const frozenAtMs = performance.now()
  const thaw = await pair.freeze()
  await sleep(freezeMs)
  // A slow machine needs longer to write as much as the limit allows.
  await until('it is held', () => watching.last?.status === 'held', 90_000).catch(() => undefined)
  const rowsThen = watching.last?.rows ?? 0
  thaw()
  const thawedAtMs = performance.now()
  await until('all rows are done', async () => (await ended(db)) !== undefined, 300_000)
  const sights = await watching.end()
  const during = sights.filter(({ atMs }) => atMs >= frozenAtMs && atMs <= thawedAtMs)
  const holdAt = during.find(({ status }) => status === 'held')?.atMs
  const hardAt = sights.find(({ atMs, lagBytes }) => atMs >= frozenAtMs && lagBytes >= hard)?.atMs
  const resumedAt = sights.find((sight) => sight.atMs > thawedAtMs && sight.rows > rowsThen)?.atMs
  const wal = running.events.all.flatMap(({ event, payload }) =>
    event === 'sub-batch.committed' ? [payload.walBytes] : [],
  )
  return {
    rows,
    wrong: await db.value('select count(*)::int from documents where n <> 1'),
    status: (await ended(db)) ?? 'unfinished',
    held: holdAt !== undefined,
    holdAfterMs: holdAt === undefined ? undefined : Math.round(holdAt - frozenAtMs),
    holdAfterHardMs: holdAt === undefined || hardAt === undefined ? undefined : Math.round(holdAt - hardAt),
    mostLagBytes: Math.max(...during.map(({ lagBytes }) => lagBytes)),
    hardLimit: hard,
    subBatchWal: Math.max(...wal),
    resumedAfterMs: resumedAt === undefined ? undefined : Math.round(resumedAt - thawedAtMs),
    sights,
  }
}

async function startFill(database: string): Promise<void> {
  await using sluice = new Sluice({ database, operations: [fill] })
  await sluice.operations.start(fill)
}

const ended = (db: TestDatabase): Promise<string | undefined> =>
  db.value(`select status from sluice.operation_history where name = 'fill'`)

/** Looks at lag, status and rows ten times a second, from outside. */
class Watch {
  readonly #sights: Sight[] = []
  readonly #over = new AbortController()
  readonly #done: Promise<void>

  constructor(db: TestDatabase, pair: Pair) {
    this.#done = this.#run(db, pair)
  }

  get last(): Sight | undefined {
    return this.#sights.at(-1)
  }

  async end(): Promise<Sight[]> {
    this.#over.abort()
    await this.#done
    return this.#sights
  }

  async #run(db: TestDatabase, pair: Pair): Promise<void> {
    while (!this.#over.signal.aborted) {
      const lagBytes = await pair.lagBytes()
      const [now] = await db.query<{ status: string; rows: number }>(
        `select status, (rows_changed + coalesce((select sum(rows_changed) from sluice.batch), 0))::float8 as rows
         from sluice.operation`,
      )
      const rows = now?.rows ?? this.last?.rows ?? 0
      this.#sights.push({ atMs: performance.now(), lagBytes, status: now?.status ?? 'none', rows })
      await sleep(100)
    }
  }
}

/** The lag may go beyond its hard limit by what is written between two looks: a sub-batch, and what it logs beside. */
export function wrongInReplica(outcome: ReplicaOutcome): string[] {
  const slack = outcome.subBatchWal + 2 ** 20
  return [
    ...(outcome.wrong === 0 && outcome.status === 'finished' ? [] : ['rows lost or doubled']),
    ...(outcome.held ? [] : ['no hold while the replica stood still']),
    ...(outcome.mostLagBytes <= outcome.hardLimit + slack ? [] : ['lag beyond its hard limit']),
    ...(outcome.resumedAfterMs === undefined ? ['not resumed by itself'] : []),
  ]
}

/** What was seen, as text: one column per second. */
export function plotSights(sights: readonly Sight[]): string {
  const first = sights[0]?.atMs ?? 0
  const seconds = Math.ceil(((sights.at(-1)?.atMs ?? first) - first) / 1_000)
  const bySecond = Array.from({ length: seconds }, (_, s) =>
    sights.filter(({ atMs }) => Math.floor((atMs - first) / 1_000) === s),
  )
  const bars = ' ▁▂▃▄▅▆▇█'
  const line = (label: string, values: number[], unit: string): string => {
    const most = Math.max(1, ...values)
    const drawn = values.map((value) => bars[Math.ceil((Math.max(0, value) / most) * (bars.length - 1))])
    return `${label.padEnd(8)} ${drawn.join('')}  up to ${most.toFixed(1)} ${unit}`
  }
  const lag = bySecond.map((part) => Math.max(0, ...part.map(({ lagBytes }) => lagBytes)) / 2 ** 20)
  const rows = bySecond.map((part) => (part.at(-1)?.rows ?? 0) - (part[0]?.rows ?? 0))
  const held = bySecond.map((part) => (part.some(({ status }) => status === 'held') ? 'H' : '.'))
  return [line('lag', lag, 'MB'), line('rows', rows, 'per second'), `${'held'.padEnd(8)} ${held.join('')}`].join('\n')
}
