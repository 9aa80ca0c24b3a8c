import type { JSX } from 'preact'
import type { Answer } from '../../answers.ts'
import { Chart } from '../chart.tsx'
import { written } from '../written.ts'
import { brief, count, duration } from '../figures.ts'

type Flow = Answer<'samples.queues'>
type Sample = Flow['samples'][number]

/** So many queues have charts; the table has all. */
const most = 6

/** In, out and depth of each queue in one chart; and how long jobs waited and ran. */
export function Flows({ names, flow }: { names: readonly string[]; flow: Flow }): JSX.Element | null {
  const busy = names
    .filter((name) =>
      flow.samples.some((one) => one.queue === name && one.enqueued + one.finished + one.died + (one.depth ?? 0) > 0),
    )
    .slice(0, most)
  if (busy.length === 0) return null
  const samples = written(flow)
  const times = samples.map(({ at }) => Date.parse(at) / 1_000)
  const span = [Math.min(...times), Math.max(...times)] as const
  return (
    <div class="charts">
      {busy.map((name) => (
        <QueueCharts
          key={name}
          name={name}
          samples={samples.filter(({ queue }) => queue === name)}
          everyMs={flow.everyMs}
          span={span}
        />
      ))}
    </div>
  )
}

function QueueCharts({
  name,
  samples,
  everyMs,
  span,
}: {
  name: string
  samples: readonly Sample[]
  everyMs: number
  span: readonly [number, number]
}): JSX.Element {
  const times = samples.map(({ at }) => Date.parse(at) / 1_000)
  const perMinute = (n: number): number => (n * 60_000) / everyMs
  const last = samples.at(-1)
  const out = samples.map(({ finished, died }) => perMinute(finished + died))
  return (
    <>
      <Chart
        title={`${name}: in, out and depth`}
        summary={`${count(last?.depth ?? 0)} deep, ${count(out.at(-1) ?? 0)} out per minute`}
        times={times}
        span={span}
        lines={[
          { label: 'in per minute', values: samples.map(({ enqueued }) => perMinute(enqueued)), tone: 'third' },
          { label: 'out per minute', values: out },
          { label: 'depth', values: samples.map(({ depth }) => depth), tone: 'second', fill: true },
        ]}
        unit={brief}
      />
      <Chart
        title={`${name}: wait and run`}
        summary={last?.wait.p95Ms == null ? 'nothing started lately' : `wait p95 ${duration(last.wait.p95Ms)}`}
        times={times}
        span={span}
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
