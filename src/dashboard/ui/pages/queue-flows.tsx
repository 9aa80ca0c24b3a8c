import type { JSX } from 'preact'
import type { Answer } from '../../answers.ts'
import { Chart } from '../chart.tsx'
import { trendOf } from '../trend.ts'
import { brief, count, duration } from '../words.ts'

type Flow = Answer<'samples.queues'>
type Sample = Flow['samples'][number]

/** So many queues have charts; the table has all. */
const most = 6
const lookMs = 300_000

/** Where the depth of a queue goes, in words. */
export function depthTrend({ samples }: Flow, queue: string): string | undefined {
  const since = Date.now() - lookMs
  const points = samples.flatMap((one) =>
    one.queue === queue && one.depth !== null && Date.parse(one.at) > since
      ? [{ at: Date.parse(one.at), value: one.depth }]
      : [],
  )
  const trend = trendOf(points)
  if (trend === undefined || trend.told === 'steady') return trend?.told
  return `${trend.perMinute > 0 ? '+' : '−'}${count(Math.abs(trend.perMinute))}/min, ${trend.told}`
}

/** In, out and depth of each queue in one chart; and how long jobs waited and ran. */
export function Flows({ names, flow }: { names: readonly string[]; flow: Flow }): JSX.Element | null {
  const busy = names
    .filter((name) =>
      flow.samples.some((one) => one.queue === name && one.enqueued + one.finished + one.died + (one.depth ?? 0) > 0),
    )
    .slice(0, most)
  if (busy.length === 0) return null
  return (
    <div class="charts">
      {busy.map((name) => (
        <QueueCharts
          key={name}
          name={name}
          samples={flow.samples.filter(({ queue }) => queue === name)}
          everyMs={flow.everyMs}
        />
      ))}
    </div>
  )
}

function QueueCharts({
  name,
  samples,
  everyMs,
}: {
  name: string
  samples: readonly Sample[]
  everyMs: number
}): JSX.Element {
  const times = samples.map(({ at }) => Date.parse(at) / 1_000)
  const perMinute = (n: number): number => (n * 60_000) / everyMs
  const last = samples.at(-1)
  const out = samples.map(({ finished, died }) => perMinute(finished + died))
  return (
    <>
      <Chart
        title={`${name}: in, out and depth`}
        summary={`${count(last?.depth ?? 0)} waiting, ${count(out.at(-1) ?? 0)}/min out`}
        times={times}
        lines={[
          { label: 'in per minute', values: samples.map(({ enqueued }) => perMinute(enqueued)), tone: 'third' },
          { label: 'out per minute', values: out },
          { label: 'waiting', values: samples.map(({ depth }) => depth), tone: 'second', fill: true },
        ]}
        unit={brief}
      />
      <Chart
        title={`${name}: wait and run`}
        summary={last?.wait.p95Ms == null ? 'nothing started lately' : `wait p95 ${duration(last.wait.p95Ms)}`}
        times={times}
        lines={[
          { label: 'wait p50', values: samples.map(({ wait }) => wait.p50Ms), tone: 'third' },
          { label: 'wait p95', values: samples.map(({ wait }) => wait.p95Ms), tone: 'second' },
          { label: 'run p95', values: samples.map(({ run }) => run.p95Ms) },
        ]}
        unit={duration}
      />
    </>
  )
}
