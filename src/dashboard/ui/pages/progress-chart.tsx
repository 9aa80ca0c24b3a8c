import type { JSX } from 'preact'
import { Chart } from '../chart.tsx'
import { percent } from '../figures.ts'
import { clock } from '../words.ts'
import type { Operation } from './operation-verbs.tsx'

type Value = number | null

const unit = (value: number): string => percent(value).replace('.0', '')

/**
 * How far it came, and the band in which it will likely end: with a chance of four in five, by the same estimate as
 * everywhere else. One edge of the band is the earliest likely end, the other the latest.
 */
export function ProgressChart({
  operation,
  times,
  done,
  marks,
}: {
  operation: Operation
  times: readonly number[]
  done: readonly Value[]
  marks: readonly { at: number; label: string }[]
}): JSX.Element {
  const { progress, eta, asOf, finishedAt } = operation
  const now = Date.parse(finishedAt ?? asOf) / 1_000
  const past = { times: times.filter((at) => at < now), done: done.slice(0, times.filter((at) => at < now).length) }
  if (progress === undefined || eta === undefined) {
    const summary = progress === undefined ? 'no estimate' : percent(progress)
    const lines = [{ label: 'done', values: [...past.done, progress ?? null], fill: true }]
    return (
      <Chart
        title="Progress"
        summary={summary}
        times={[...past.times, now]}
        lines={lines}
        {...{ marks, unit }}
        share
        named
      />
    )
  }
  const [low, high] = [Math.max(1, eta.lowMs / 1_000), Math.max(2, eta.highMs / 1_000)]
  const none = past.times.map(() => null)
  const at = (seconds: number): string =>
    clock(new Date((now + seconds) * 1_000).toISOString(), { seconds: high < 120 })
  return (
    <Chart
      title="Progress"
      summary={`${percent(progress)}; ends between ${at(low)} and ${at(high)}, likely`}
      times={[...past.times, now, now + low, now + high]}
      lines={[
        { label: 'done', values: [...past.done, progress, null, null], fill: true },
        { label: 'earliest likely end', values: [...none, progress, 1, 1], tone: 'limit' },
        {
          label: 'latest likely end',
          values: [...none, progress, progress + ((1 - progress) * low) / high, 1],
          tone: 'limit',
        },
      ]}
      band={[1, 2]}
      named
      marks={[...marks, { at: now, label: 'now' }]}
      unit={unit}
      share
    />
  )
}
