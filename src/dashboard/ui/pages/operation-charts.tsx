import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { Answer } from '../../answers.ts'
import { Chart, type ChartProps } from '../chart.tsx'
import { useLive } from '../live.ts'
import { Table } from '../parts.tsx'
import { written } from '../written.ts'
import { brief, count, duration, percent } from '../figures.ts'
import { clock, words } from '../words.ts'
import type { Operation } from './operation-verbs.tsx'
import { ProgressChart } from './progress-chart.tsx'
import { SignalCharts } from './signal-charts.tsx'

type Sample = Answer<'samples.operation'>['samples'][number]

const number = (title: string): { title: string; class: string } => ({ title, class: 'number' })

interface Mark {
  at: string
  to: string
}

/** What it did over time, all on one axis, with marks where its state changed. */
export function OperationCharts({
  operation,
  marks,
}: {
  operation: Operation
  marks: readonly Mark[]
}): JSX.Element | null {
  const { data } = useLive<Answer<'samples.operation'>>(samplesPath(operation))
  const going = operation.finishedAt === null
  const signals = useLive<Answer<'samples.signals'>>(going ? `/samples/signals?within=${spanOf(operation)}` : undefined)
  const [asTable, setAsTable] = useState(false)
  const samples = data === undefined ? [] : going ? written(data, Date.parse(operation.asOf)) : data.samples
  if (data === undefined || samples.length === 0) return null
  const times = samples.map(({ at }) => Date.parse(at) / 1_000)
  const done = samples.map(({ progress }) => progress)
  const shownMarks = marks
    .filter(({ to }) => to !== 'queued')
    .map(({ at, to }) => ({ at: Date.parse(at) / 1_000, label: words(to) }))
  const span = times.length < 2 ? undefined : ([times[0] ?? 0, times.at(-1) ?? 0] as const)
  return (
    <section aria-labelledby="over-time">
      <div class="section-head">
        <h2 id="over-time">Over time</h2>
        <button type="button" class="quiet" onClick={() => setAsTable(!asTable)}>
          {asTable ? 'Show as charts' : 'Show as table'}
        </button>
      </div>
      {asTable ? (
        <SampleTable samples={samples} everyMs={data.everyMs} />
      ) : (
        <div class="charts">
          <ProgressChart operation={operation} times={times} done={done} marks={shownMarks} />
          <Charts samples={samples} everyMs={data.everyMs} shown={{ times, marks: shownMarks, span }} />
          {signals.data !== undefined && (
            <SignalCharts samples={signals.data.samples} table={operation.table} shown={{ marks: shownMarks, span }} />
          )}
        </div>
      )}
    </section>
  )
}

/** Where its samples are read. */
export const samplesPath = (operation: Operation): string =>
  `/samples/operations/${operation.id}?within=${spanOf(operation)}`

/** As far back as it has been running, in one of three steps. */
function spanOf({ startedAt, createdAt }: Operation): string {
  const sinceMs = Date.now() - Date.parse(startedAt ?? createdAt)
  return sinceMs < 1_700_000 ? '30m' : sinceMs < 21_000_000 ? '6h' : '7d'
}

function Charts({
  samples,
  everyMs,
  shown,
}: {
  samples: readonly Sample[]
  everyMs: number
  shown: Pick<ChartProps, 'times' | 'marks' | 'span'>
}): JSX.Element {
  const rates = samples.map(({ rowsSeen }) => (rowsSeen * 1_000) / everyMs)
  const last = samples.at(-1)
  return (
    <>
      <Chart
        {...shown}
        title="Rows per second"
        summary={`at most ${count(Math.max(...rates))}`}
        lines={[
          { label: 'walked', values: rates, fill: true },
          {
            label: 'changed',
            values: samples.map(({ rowsChanged }) => (rowsChanged * 1_000) / everyMs),
            tone: 'second',
          },
        ]}
        unit={brief}
      />
      <Chart
        {...shown}
        title="Time of a sub-batch"
        summary={last?.subBatch.p95Ms == null ? 'no sub-batch lately' : `p95 ${duration(last.subBatch.p95Ms)}`}
        lines={[
          { label: 'p50', values: samples.map(({ subBatch }) => subBatch.p50Ms) },
          { label: 'p95', values: samples.map(({ subBatch }) => subBatch.p95Ms), tone: 'second' },
          { label: 'target', values: samples.map(({ subBatch }) => subBatch.targetMs), tone: 'limit' },
        ]}
        unit={duration}
      />
      <Chart
        {...shown}
        title="Rows of a sub-batch"
        summary={last?.size == null ? '' : `now ${count(last.size)}`}
        lines={[{ label: 'rows', values: samples.map(({ size }) => size) }]}
        unit={brief}
      />
      {samples.some(({ pace, share }) => (pace ?? share) !== null) && (
        <Chart
          {...shown}
          title="Pace"
          summary={last?.limiter == null ? 'nothing holds it back' : `limited by ${words(last.limiter)}`}
          lines={[
            { label: 'allowed by a person', values: samples.map(({ pace }) => pace), tone: 'limit' },
            { label: 'allowed by the governor', values: samples.map(({ share }) => share) },
          ]}
          unit={(value) => percent(value).replace('.0', '')}
          share
        />
      )}
    </>
  )
}

function SampleTable({ samples, everyMs }: { samples: readonly Sample[]; everyMs: number }): JSX.Element {
  return (
    <Table
      label="Samples"
      dense
      heads={[
        'At',
        number('Rows/s'),
        number('Changed/s'),
        number('p50'),
        number('p95'),
        number('Size'),
        number('Pace'),
        'Limited by',
        number('Progress'),
      ]}
    >
      {samples.toReversed().map((one) => (
        <tr key={one.at}>
          <td class="nowrap">{clock(one.at)}</td>
          <td class="number">{count((one.rowsSeen * 1_000) / everyMs)}</td>
          <td class="number">{count((one.rowsChanged * 1_000) / everyMs)}</td>
          <td class="number">{one.subBatch.p50Ms === null ? '–' : duration(one.subBatch.p50Ms)}</td>
          <td class="number">{one.subBatch.p95Ms === null ? '–' : duration(one.subBatch.p95Ms)}</td>
          <td class="number">{one.size === null ? '–' : count(one.size)}</td>
          <td class="number">{one.share === null ? '–' : percent(one.share)}</td>
          <td>{one.limiter ?? ''}</td>
          <td class="number">{one.progress === null ? '–' : percent(one.progress)}</td>
        </tr>
      ))}
    </Table>
  )
}
