import { spread, type Outcome, type Spread } from '../../harness.ts'
import { aligned, shown } from '../../report.ts'
import { baseline, harmOf, slowdownOf, speedOf, usualOf, type BulkOutcome, type BulkRun } from './bulk.ts'

/** The figures of one way in one case, each with its spread over the rounds. */
interface Figures {
  variant: string
  complete: boolean
  rowsPerSecond: Spread
  /** Over those of the big statement in the same round. */
  ratio: Spread
  walPerRow: Spread
  walRatio: Spread
  slowdown: Spread
  p50: Spread
  p95: Spread
  p99: Spread
}

/** What an issue of speed is judged by. */
interface Target {
  measure: string
  least: number
  /** Not more than that, instead of not less. */
  atMost?: boolean
  reached: Spread | undefined
}

function figuresOf(outcome: BulkOutcome): Figures[] {
  const { outcomes } = outcome
  const base = outcomes.find(({ variant }) => variant === baseline)?.runs ?? []
  const paired = (runs: BulkRun[], of: (run: BulkRun) => number): Spread =>
    spread(runs.map((run, round) => of(run) / of(base[round] ?? run)))
  return outcomes.map(({ variant, runs }) => ({
    variant,
    complete: runs.every(({ complete }) => complete),
    rowsPerSecond: spread(runs.map(speedOf)),
    ratio: paired(runs, speedOf),
    walPerRow: spread(runs.map(walPerRow)),
    walRatio: paired(runs, walPerRow),
    slowdown: spread(runs.map(slowdownOf)),
    p50: harm(outcome, runs, 0.5),
    p95: harm(outcome, runs, 0.95),
    p99: harm(outcome, runs, 0.99),
  }))
}

function harm(outcome: BulkOutcome, runs: BulkRun[], part: number): Spread {
  const usual = usualOf(outcome, part)
  return spread(runs.map((run) => harmOf(run, part, usual)))
}

/** The targets, as far as what they are about was measured. */
function targetsOf(measured: readonly BulkOutcome[]): Target[] {
  const by = (key: string): BulkOutcome | undefined => measured.find((outcome) => outcome.measured.key === key)
  const of = (key: string, variant: string): Figures | undefined => {
    const outcome = by(key)
    return outcome && figuresOf(outcome).find((figures) => figures.variant === variant)
  }
  const [one, auto] = ['Sluice, 1 lane', 'Sluice, lanes auto']
  const foreground = by('foreground')
  return [
    { measure: 'delete oldest, 1 lane', least: 0.85, reached: of('oldest', one)?.ratio },
    { measure: 'its last batches ÷ first', least: 1.2, atMost: true, reached: of('oldest', one)?.slowdown },
    { measure: 'delete oldest, lanes auto', least: 1.1, reached: of('oldest', auto)?.ratio },
    { measure: 'delete scattered, 1 lane', least: 0.75, reached: of('scattered', one)?.ratio },
    { measure: 'delete scattered, lanes auto', least: 1, reached: of('scattered', auto)?.ratio },
    { measure: 'oldest ÷ LIMIT 500 loop', least: 8, reached: over(by('oldest'), one, 'LIMIT 500 loop') },
    { measure: 'scattered ÷ LIMIT 500 loop', least: 4, reached: over(by('scattered'), one, 'LIMIT 500 loop') },
    { measure: 'set a column on full pages', least: 1.5, reached: of('full', one)?.ratio },
    { measure: 'its WAL per row', least: 0.6, atMost: true, reached: of('full', one)?.walRatio },
    { measure: 'beside an application: rows/s', least: 0.33, reached: of('foreground', one)?.ratio },
    { measure: 'beside an application: p95 ÷ idle', least: 1.5, atMost: true, reached: of('foreground', one)?.p95 },
    {
      measure: 'found sizes ÷ best fixed size with p95 no worse',
      least: 0.8,
      reached: foreground && againstFixed(foreground),
    },
    { measure: 'WAL per deleted row', least: 1.03, atMost: true, reached: of('oldest', one)?.walRatio },
  ]
}

function walPerRow({ walBytes, rows }: BulkRun): number {
  return walBytes / Math.max(rows, 1)
}

function over(outcome: BulkOutcome | undefined, variant: string, other: string): Spread | undefined {
  const [a, b] = [variant, other].map((name) => runsOf(outcome?.outcomes, name))
  if (a === undefined || b === undefined || b.length === 0) return undefined
  return spread(a.map((run, round) => speedOf(run) / speedOf(b[round] ?? run)))
}

/** The speed over that of the fastest fixed size whose p95 was not above ours. */
function againstFixed(outcome: BulkOutcome): Spread | undefined {
  const { outcomes } = outcome
  const ours = runsOf(outcomes, 'Sluice, 1 lane')
  if (ours === undefined || ours.length === 0) return undefined
  const limit = harm(outcome, ours, 0.95).median
  const rivals = outcomes
    .filter(({ variant }) => variant.startsWith('Sluice, fixed'))
    .filter(({ runs }) => harm(outcome, runs, 0.95).median <= limit)
    .toSorted((a, b) => spread(b.runs.map(speedOf)).median - spread(a.runs.map(speedOf)).median)
  const [best] = rivals
  return best && spread(ours.map((run, round) => speedOf(run) / speedOf(best.runs[round] ?? run)))
}

function runsOf(outcomes: Outcome<BulkRun>[] | undefined, name: string): BulkRun[] | undefined {
  return outcomes?.find(({ variant }) => variant === name)?.runs
}

const figure = (value: Spread, digits: number): string => (Number.isNaN(value.median) ? '' : shown(value, digits))

/** The whole report, as Markdown that also reads well on a terminal. */
export function bulkReport(
  measured: readonly BulkOutcome[],
  about: { conditions: string[]; command: string; facts: string[] },
): string {
  const lines = [...about.conditions, ...about.facts, `\`${about.command}\``].map((line) => `- ${line}`)
  const sections = measured.flatMap((outcome) => ['', `### ${outcome.measured.title}`, '', ...tableOf(outcome)])
  return [
    '## bulk: many rows of a large table',
    '',
    ...lines,
    ...sections,
    '',
    '### Targets',
    '',
    ...targetTable(measured),
    '',
  ].join('\n')
}

function tableOf(outcome: BulkOutcome): string[] {
  const { foreground } = outcome.measured
  const head = ['way', 'rows/s', 'rows/s ÷ big', 'WAL B/row', 'last ÷ first']
  const rows = figuresOf(outcome).map((f) => [
    f.complete ? f.variant : `${f.variant} (stopped)`,
    figure(f.rowsPerSecond, 0),
    figure(f.ratio, 2),
    figure(f.walPerRow, 0),
    figure(f.slowdown, 2),
    ...(foreground ? [figure(f.p50, 2), figure(f.p95, 2), figure(f.p99, 2)] : []),
  ])
  const table = aligned([[...head, ...(foreground ? ['p50 ÷ idle', 'p95 ÷ idle', 'p99 ÷ idle'] : [])], ...rows])
  if (!foreground) return table
  const idle = [0.5, 0.95, 0.99].map((part) => `p${part * 100} ${shown(usualOf(outcome, part), 1)} ms`)
  return [...table, '', `With nobody at work, ${idle.join(', ')}.`]
}

function targetTable(measured: readonly BulkOutcome[]): string[] {
  const rows = targetsOf(measured).map(({ measure, least, atMost = false, reached }) => [
    measure,
    `${atMost ? '≤' : '≥'} ${least}`,
    reached === undefined ? 'not measured' : figure(reached, 2),
    reached === undefined || Number.isNaN(reached.median) ? '' : isMet(reached, least, atMost) ? 'met' : 'missed',
  ])
  return aligned([['measure', 'least', 'reached', ''], ...rows])
}

function isMet({ median }: Spread, least: number, atMost: boolean): boolean {
  return atMost ? median <= least : median >= least
}

/** The ratios as data. */
export function bulkData(measured: readonly BulkOutcome[], about: { conditions: string[]; command: string }): object {
  return {
    ...about,
    cases: measured.map((outcome) => ({
      case: outcome.measured.key,
      title: outcome.measured.title,
      figures: figuresOf(outcome),
    })),
    targets: targetsOf(measured),
  }
}
