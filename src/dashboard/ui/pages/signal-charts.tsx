import type { JSX } from 'preact'
import type { Answer } from '../../answers.ts'
import { Chart, type ChartProps } from '../chart.tsx'
import { signalUnit } from '../signal-unit.ts'
import { words } from '../words.ts'

type Sample = Answer<'samples.signals'>['samples'][number]

/** Those that are nearest to their limits are shown. */
const most = 4

/** The health signals that can hold an operation back, each with the limits at which it slows down and stops. */
export function SignalCharts({
  samples,
  table,
  shown,
}: {
  samples: readonly Sample[]
  table: string
  shown: Pick<ChartProps, 'marks' | 'span'>
}): JSX.Element | null {
  const groups = new Map<string, Sample[]>()
  for (const sample of samples) {
    if (sample.table === null || sample.table === table)
      groups.set(sample.signal, [...(groups.get(sample.signal) ?? []), sample])
  }
  const nearness = (all: readonly Sample[]): number => Math.max(...all.map(({ value, hard }) => value / hard))
  const nearest = [...groups].toSorted(([, a], [, b]) => nearness(b) - nearness(a)).slice(0, most)
  if (nearest.length === 0) return null
  return (
    <>
      {nearest.map(([signal, all]) => (
        <Chart
          {...shown}
          key={signal}
          title={`Health: ${words(signal)}`}
          summary={summaryOf(signal, all.at(-1))}
          times={all.map(({ at }) => Date.parse(at) / 1_000)}
          lines={[
            { label: 'now', values: all.map(({ value }) => value) },
            { label: 'slows from', values: all.map(({ soft }) => soft), tone: 'limit' },
            { label: 'stops at', values: all.map(({ hard }) => hard), tone: 'second' },
          ]}
          unit={signalUnit(signal)}
        />
      ))}
    </>
  )
}

function summaryOf(signal: string, last: Sample | undefined): string {
  const unit = signalUnit(signal)
  return last === undefined ? '' : `${unit(last.value)}; slows from ${unit(last.soft)}, stops at ${unit(last.hard)}`
}
