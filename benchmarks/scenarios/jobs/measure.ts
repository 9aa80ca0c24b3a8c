import { interleave, spread, type Spread } from '../../harness.ts'

/** What one run of one variant gave. */
export interface Reading {
  /** Of the whole run, for the reader of the progress lines. */
  ms: number
  values: Record<string, number>
}

/** Looks up the values of another variant in the same round. */
type SameRound = (variant: string) => Record<string, number>

/** One figure that the report gives for each variant. */
export interface Column {
  key: string
  title: string
  digits: number
  of: (own: Record<string, number>, sameRound: SameRound) => number
  /** What Sluice is to reach: the least that will do, and better. */
  goal?: { least?: number; aim?: number; atMost?: boolean }
}

/** One thing that is measured for several variants. */
export interface Measure {
  key: string
  title: string
  facts: string[]
  columns: Column[]
  variants: { name: string; run(): Promise<Reading> }[]
}

/** What the report says of one variant: a figure for each column. */
export interface Row {
  variant: string
  figures: Record<string, Spread>
}

/** A measure that was taken. */
export interface Taken extends Pick<Measure, 'key' | 'title' | 'facts' | 'columns'> {
  rounds: number
  rows: Row[]
}

/** Runs all variants once per round and compares them within each round. */
export async function take(measure: Measure, rounds: number, say: (line: string) => void): Promise<Taken> {
  const { key, title, facts, columns } = measure
  const outcomes = await interleave(measure, rounds, (line) => say(`${key}: ${line}`))
  const valuesIn = (round: number) => (variant: string) =>
    outcomes.find((outcome) => outcome.variant === variant)?.runs[round]?.values ?? {}
  const rows = outcomes.map(({ variant, runs }) => {
    const figure = ({ key: name, of }: Column): [string, Spread] => [
      name,
      spread(runs.map(({ values }, round) => of(values, valuesIn(round)))),
    ]
    return { variant, figures: Object.fromEntries(columns.map(figure)) }
  })
  return { key, title, facts, columns, rounds, rows }
}

/** A value as it was measured. */
export function plain(key: string, title: string, digits: number): Column {
  return { key, title, digits, of: (own) => own[key] ?? Number.NaN }
}

/** A goal that is stated for so many jobs says nothing about fewer. */
export function goalFor(stated: number, jobs: number, goal: NonNullable<Column['goal']>): Pick<Column, 'goal'> {
  return jobs >= stated ? { goal } : {}
}

/** A value over that of the baseline in the same round. */
export function ratioTo(baseline: string, value: string, column: Omit<Column, 'of' | 'digits'>): Column {
  const of: Column['of'] = (own, sameRound) => (own[value] ?? Number.NaN) / (sameRound(baseline)[value] ?? Number.NaN)
  return { ...column, digits: 2, of }
}
