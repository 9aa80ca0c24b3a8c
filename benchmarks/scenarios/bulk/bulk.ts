import { setTimeout as sleep } from 'node:timers/promises'
import { connected } from '../../database.ts'
import { interleave, spread, type Outcome, type Spread } from '../../harness.ts'
import { EventsTable, type Case } from '../events-table.ts'
import { Foreground, percentile, type Beat } from './foreground.ts'
import { baseline, works, type Site, type Way } from './works.ts'

/** A case that is measured: the work, and whether an application is there meanwhile. */
export interface Measured {
  key: string
  title: string
  case: Omit<Case, 'rows'>
  foreground: boolean
}

export const cases: readonly Measured[] = [
  { key: 'oldest', title: 'delete the oldest half', case: { aged: 'oldest' }, foreground: false },
  { key: 'scattered', title: 'delete a scattered half', case: { aged: 'scattered' }, foreground: false },
  {
    key: 'full',
    title: 'set a column, pages full (not HOT)',
    case: { aged: 'oldest', work: 'backfill' },
    foreground: false,
  },
  {
    key: 'roomy',
    title: 'set a column, pages half full (HOT)',
    case: { aged: 'oldest', work: 'backfill', fillfactor: 45 },
    foreground: false,
  },
  {
    key: 'foreground',
    title: 'delete a scattered half beside an application',
    case: { aged: 'scattered' },
    foreground: true,
  },
]

/** How much is measured. */
export interface BulkSizes {
  rows: number
  rounds: number
  /** Statements of the application per second, and how long it is watched before the work begins. */
  rate: number
  idleMs: number
  /** A way that is not done by then is stopped, and its speed until then counts: all, and loops by hand. */
  limitMs: number
  loopMs: number
}

const fullTimes = { idleMs: 6_000, limitMs: 60_000, loopMs: 12_000 }
const smallTimes = { idleMs: 500, limitMs: 3_000, loopMs: 500 }
export const fullBulk: BulkSizes = { rows: 5_000_000, rounds: 3, rate: 400, ...fullTimes }
export const smallBulk: BulkSizes = { rows: 100_000, rounds: 1, rate: 200, ...smallTimes }

/** Rows of the table: as many are set in one case as are deleted in another, which is half of what is there. */
function rowsOf({ work = 'delete' }: Measured['case'], { rows }: BulkSizes): number {
  return work === 'delete' ? rows : Math.ceil(rows / 2)
}

/** What one run showed. */
export interface BulkRun {
  rows: number
  ms: number
  complete: boolean
  walBytes: number
  /** Rows that were done by then, in milliseconds since the begin. */
  marks: [ms: number, rows: number][]
  /** What the application saw before and during the work; empty without one. */
  idle: Beat[]
  beats: Beat[]
  began: number
}

/** The runs of all ways in one case. */
export interface BulkOutcome {
  measured: Measured
  outcomes: Outcome<BulkRun>[]
}

/** Runs the chosen cases one after the other, the ways of each interleaved. */
export async function bulkBenchmark({
  url,
  sizes,
  only,
  ways = works,
  say,
}: {
  url: string
  sizes: BulkSizes
  only: readonly string[] | undefined
  /** Those that are compared, each in the cases that it is for. */
  ways?: Record<string, Way>
  say: (line: string) => void
}): Promise<BulkOutcome[]> {
  const unknown = only?.find((key) => cases.every((measured) => measured.key !== key))
  if (unknown !== undefined) throw new Error(`--only must name cases: ${cases.map(({ key }) => key).join(', ')}`)
  const found: BulkOutcome[] = []
  for (const measured of cases.filter(({ key }) => only === undefined || only.includes(key))) {
    say(measured.title)
    await using table = await EventsTable.create(url, { ...measured.case, rows: rowsOf(measured.case, sizes) })
    const chosen = Object.entries(ways).filter(([, way]) => way.only?.includes(measured.key) ?? true)
    const variants = chosen.map(([name, way]) => ({ name, run: () => runOnce(table, way, { measured, sizes }) }))
    found.push({ measured, outcomes: await interleave<BulkRun>({ variants }, sizes.rounds, say) })
  }
  return found
}

export { baseline }

async function runOnce(
  table: EventsTable,
  way: Way,
  { measured, sizes }: { measured: Measured; sizes: BulkSizes },
): Promise<BulkRun> {
  await using copy = await table.copy()
  const { url } = copy
  await using foreground = measured.foreground ? await Foreground.start(url, sizes.rate) : undefined
  if (foreground !== undefined) await sleep(sizes.idleMs)
  const idle = (await foreground?.take()) ?? []
  const walAt = await walPosition(url)
  const limitMs = way.byHand ? sizes.loopMs : sizes.limitMs
  const timed = await timedRun(way, { url, case: { ...measured.case, rows: rowsOf(measured.case, sizes) } }, limitMs)
  const beats = ((await foreground?.take()) ?? []).filter(({ at }) => at >= timed.began && at <= timed.began + timed.ms)
  const walBytes = (await walPosition(url)) - walAt
  if (timed.complete) await table.verify(url)
  return { ...timed, walBytes, idle, beats }
}

/** Runs a way. What it does before and after its work, such as to start and stop a worker, does not count. */
async function timedRun(
  { work }: Way,
  place: Pick<Site, 'url' | 'case'>,
  limitMs: number,
): Promise<Pick<BulkRun, 'rows' | 'ms' | 'complete' | 'marks' | 'began'>> {
  const over = new AbortController()
  const marks: BulkRun['marks'] = []
  let [rows, start, ms, began] = [0, 0, 0, 0]
  const done = (more: number): void => {
    rows += more
    marks.push([performance.now() - start, rows])
  }
  const timed: Site['timed'] = async (part) => {
    const limit = setTimeout(() => over.abort(), limitMs)
    began = Date.now()
    start = performance.now()
    const complete = await part()
    ms = performance.now() - start
    clearTimeout(limit)
    return complete
  }
  const complete = await work({ ...place, done, over: over.signal, timed })
  return { rows, ms, complete, marks, began }
}

async function walPosition(url: string): Promise<number> {
  const { rows } = await connected(url, (client) =>
    client.query<{ at: number }>(`select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::float8 as at`),
  )
  return rows[0]?.at ?? Number.NaN
}

/** Rows per second. */
export function speedOf({ rows, ms }: BulkRun): number {
  return (rows * 1_000) / ms
}

/**
 * How much longer a row took in the last tenth of the steps that changed some than in the second tenth; NaN where there
 * are few. Steps over rows that are not to be changed do not count.
 */
export function slowdownOf({ marks: all }: BulkRun): number {
  const marks = all.filter(([, rows], i) => rows > (all[i - 1]?.[1] ?? 0))
  const tenth = Math.floor(marks.length / 10)
  if (tenth < 2) return Number.NaN
  const perRow = (from: number, to: number): number => {
    const [fromMs = 0, fromRows = 0] = marks[from] ?? []
    const [toMs = 0, toRows = 0] = marks[to] ?? []
    return (toMs - fromMs) / Math.max(toRows - fromRows, 1)
  }
  return perRow(marks.length - 1 - tenth, marks.length - 1) / perRow(tenth, 2 * tenth)
}

/** What the application saw with nobody at work, over all runs of a case: before one of them it may have been odd. */
export function usualOf({ outcomes }: BulkOutcome, part: number): Spread {
  return spread(outcomes.flatMap(({ runs }) => runs.map(({ idle }) => percentile(idle, part))))
}

/** What the application saw during the work over what is usual. */
export function harmOf({ beats }: BulkRun, part: number, usual: Spread): number {
  return percentile(beats, part) / usual.median
}
