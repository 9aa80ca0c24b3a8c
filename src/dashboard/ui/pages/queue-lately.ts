import type { Answer } from '../../answers.ts'
import { trendOf } from '../trend.ts'
import { count } from '../figures.ts'

type Flow = Answer<'samples.queues'>
type Times = Flow['samples'][number]['wait']

const lookMs = 300_000

const recent = ({ samples }: Flow, queue: string): Flow['samples'] => {
  const since = Date.now() - lookMs
  return samples.filter((one) => one.queue === queue && Date.parse(one.at) > since)
}

/** What went on in a queue in the last minutes. */
interface Lately {
  inPerMinute: number
  outPerMinute: number
  /** Of what ended, how much did so without success. */
  failedShare: number
  wait: Times | undefined
  run: Times | undefined
}

/** The rates of the last five minutes, and the latest times that are known; undefined: nothing was seen. */
export function latelyOf(flow: Flow, queue: string): Lately | undefined {
  const samples = recent(flow, queue)
  if (samples.length === 0) return undefined
  const minutes = (samples.length * flow.everyMs) / 60_000
  const sum = (of: (one: Flow['samples'][number]) => number): number =>
    samples.reduce((total, one) => total + of(one), 0)
  const [finished, died] = [sum((one) => one.finished), sum((one) => one.died)]
  return {
    inPerMinute: sum(({ enqueued }) => enqueued) / minutes,
    outPerMinute: (finished + died) / minutes,
    failedShare: died === 0 ? 0 : died / (finished + died),
    wait: samples.findLast(({ wait }) => wait.p95Ms !== null)?.wait,
    run: samples.findLast(({ run }) => run.p95Ms !== null)?.run,
  }
}

/** Where the depth of a queue goes, in words. */
export function depthTrend(flow: Flow, queue: string): string | undefined {
  const points = recent(flow, queue).flatMap(({ at, depth }) =>
    depth === null ? [] : [{ at: Date.parse(at), value: depth }],
  )
  const trend = trendOf(points)
  if (trend === undefined || trend.told === 'steady') return trend?.told
  return `${trend.perMinute > 0 ? '+' : '−'}${count(Math.abs(trend.perMinute))}/min, ${trend.told}`
}
