import { aligned, shown } from '../../report.ts'
import type { JobsBenchmark } from './jobs.ts'
import type { Column, Row, Taken } from './measure.ts'

interface About {
  conditions: string[]
  command: string
}

/** What Sluice is to reach, and what it reached. */
interface Goal {
  measure: string
  figure: string
  least: number | undefined
  aim: number | undefined
  /** Whether smaller is better. */
  atMost: boolean
  median: number
  met: 'aim' | 'least' | 'no'
}

/** The whole report, as Markdown that also reads well on a terminal. */
export function jobsReport({ facts, taken }: JobsBenchmark, { conditions, command }: About): string {
  const head = [...conditions, ...facts, `\`${command}\``].map((line) => `- ${line}`)
  return [
    '## jobs: Sluice beside graphile-worker, pg-boss and BullMQ',
    '',
    ...head,
    ...taken.flatMap(section),
    ...goalsSection(taken),
    '',
  ].join('\n')
}

/** The same as data. */
export function jobsData({ facts, taken }: JobsBenchmark, { conditions, command }: About): object {
  const ratios = taken.map(({ key, rows }) => [
    key,
    Object.fromEntries(rows.map(({ variant, figures }) => [variant, figures])),
  ])
  const rounds = Object.fromEntries(taken.map((measure) => [measure.key, measure.rounds]))
  return { command, conditions, facts, rounds, ratios: Object.fromEntries(ratios), goals: taken.flatMap(goals) }
}

function section({ title, facts, columns, rounds, rows }: Taken): string[] {
  const cells = ({ variant, figures }: Row): string[] => [
    variant,
    ...columns.map(({ key, digits }) => {
      const figure = figures[key]
      return figure === undefined || Number.isNaN(figure.median) ? '–' : shown(figure, digits)
    }),
  ]
  const table = aligned([['variant', ...columns.map((column) => column.title)], ...rows.map(cells)])
  const legend = `Median [min..max] over ${rounds} interleaved round${rounds === 1 ? '' : 's'}; ratios are taken within each round.`
  return ['', `### ${title}`, '', ...facts.map((fact) => `- ${fact}`), '', ...table, '', legend]
}

function goalsSection(taken: Taken[]): string[] {
  const found = taken.flatMap(goals)
  if (found.length === 0) return []
  const rows = found.map(({ measure, figure, least, aim, atMost, median, met }) => {
    const sign = atMost ? '≤' : '≥'
    const limit = (value: number | undefined): string => (value === undefined ? '–' : `${sign} ${value}`)
    return [`${measure}: ${figure}`, median.toFixed(2), limit(least), limit(aim), met]
  })
  return [
    '',
    '### Sluice and its goals',
    '',
    ...warning(taken),
    ...aligned([['figure', 'median', 'least', 'aim', 'met'], ...rows]),
  ]
}

function goals({ key: measure, columns, rows }: Taken): Goal[] {
  const figures = rows.find(({ variant }) => variant === 'Sluice')?.figures
  return columns.flatMap(({ key, title, goal }: Column) => {
    const median = figures?.[key]?.median
    if (goal === undefined || median === undefined || Number.isNaN(median)) return []
    const { least, aim, atMost = false } = goal
    const reaches = (limit: number | undefined): boolean =>
      limit !== undefined && (atMost ? median <= limit : median >= limit)
    const met = reaches(aim) ? 'aim' : reaches(least) ? 'least' : 'no'
    return [{ measure, figure: title, least, aim, atMost, median, met }]
  })
}

function warning(taken: Taken[]): string[] {
  const enough = taken.every(({ key, rounds }) => key === 'sweep' || rounds >= 5)
  return enough ? [] : ['Fewer than 5 rounds: an indication, not a result.', '']
}
