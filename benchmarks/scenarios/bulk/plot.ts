import { percentile } from './foreground.ts'
import type { BulkOutcome, BulkRun } from './bulk.ts'

const [width, height, left, gap] = [760, 110, 210, 34]
const buckets = 40

/** What is drawn of one way. */
interface Drawn {
  variant: string
  run: BulkRun
  speeds: number[]
  harms: number[]
}

/**
 * Rows per second, and the application's p99 where there is one, over the time of the first run of each way: as SVG. All
 * ways have the same scale.
 */
export function bulkPlot({ measured, outcomes }: BulkOutcome): string {
  const drawn = outcomes.flatMap(({ variant, runs: [run] }): Drawn[] =>
    run === undefined
      ? []
      : [{ variant, run, speeds: speedsOf(run), harms: run.beats.length === 0 ? [] : harmsOf(run) }],
  )
  const top = {
    speed: mostOf(drawn.flatMap(({ speeds }) => speeds)),
    harm: mostOf(drawn.flatMap(({ harms }) => harms)),
  }
  const rows = drawn.map((way, i) => panel(way, top, 40 + i * (height + gap)))
  const total = 60 + drawn.length * (height + gap)
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${left + width + 20} ${total}" font-family="sans-serif" font-size="12">`,
    `<rect width="100%" height="100%" fill="white"/>`,
    `<text x="10" y="20" font-size="14">${escaped(measured.title)}: rows/s (blue)${measured.foreground ? ' and p99 of the application (red)' : ''} over time, first round</text>`,
    ...rows,
    '</svg>',
    '',
  ].join('\n')
}

const mostOf = (values: readonly number[]): number => Math.max(...values.filter(Number.isFinite), 1)

function panel({ variant, run, speeds, harms }: Drawn, top: { speed: number; harm: number }, y: number): string {
  return [
    `<g transform="translate(0 ${y})">`,
    `<text x="10" y="16">${escaped(variant)}</text>`,
    `<text x="10" y="34" fill="#555">${(run.ms / 1_000).toFixed(1)} s${run.complete ? '' : ', stopped'}</text>`,
    `<text x="10" y="52" fill="#2563eb">up to ${Math.round(mostOf(speeds)).toLocaleString('en-US')}/s</text>`,
    harms.length === 0 ? '' : `<text x="10" y="70" fill="#dc2626">up to ${mostOf(harms).toFixed(1)} ms</text>`,
    `<rect x="${left}" y="0" width="${width}" height="${height}" fill="none" stroke="#ddd"/>`,
    line(speeds, top.speed, '#2563eb'),
    harms.length === 0 ? '' : line(harms, top.harm, '#dc2626'),
    '</g>',
  ].join('\n')
}

function line(values: readonly number[], top: number, colour: string): string {
  const points = values
    .map((value, i) => [left + (i * width) / (buckets - 1), height - (Math.min(value, top) / top) * (height - 4)])
    .filter(([, y]) => Number.isFinite(y))
    .map(([x = 0, y = 0]) => `${x.toFixed(1)},${y.toFixed(1)}`)
  return `<polyline fill="none" stroke="${colour}" stroke-width="1.5" points="${points.join(' ')}"/>`
}

/** The rows of a step are taken to be done evenly over its time: the step of a big statement is all of it. */
function speedsOf({ marks, ms }: BulkRun): number[] {
  const steps: BulkRun['marks'] = [[0, 0], ...marks]
  const rowsAt = (at: number): number => {
    const next = steps.findIndex(([mark]) => mark > at)
    const [[fromMs, from] = [0, 0], [toMs, to] = [0, 0]] =
      next === -1 ? steps.slice(-1) : steps.slice(next - 1, next + 1)
    return next === -1 ? from : from + ((to - from) * (at - fromMs)) / (toMs - fromMs)
  }
  const step = ms / buckets
  return Array.from({ length: buckets }, (_, i) => ((rowsAt((i + 1) * step) - rowsAt(i * step)) * 1_000) / step)
}

function harmsOf({ beats, began, ms }: BulkRun): number[] {
  const step = ms / buckets
  return Array.from({ length: buckets }, (_, i) => {
    const some = beats.filter(({ at }) => at >= began + i * step && at < began + (i + 1) * step)
    return some.length === 0 ? Number.NaN : percentile(some, 0.99)
  })
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
}
