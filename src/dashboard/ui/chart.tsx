import type { JSX } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import uPlot from 'uplot'
import { axisClock, clock } from './words.ts'

/** One line of a chart. */
interface Line {
  label: string
  values: readonly (number | null | undefined)[]
  /** Which of the colours; a limit is dashed. */
  tone?: 'first' | 'second' | 'third' | 'limit'
  fill?: boolean
}

export interface ChartProps {
  title: string
  /** What it shows, in words: for those who do not see it, and beside the title for all. */
  summary: string
  /** Seconds since 1970. */
  times: readonly number[]
  lines: readonly Line[]
  unit: (value: number) => string
  /** Vertical marks, such as pauses. */
  marks?: readonly { at: number; label: string }[]
  /** From 0 to 1. */
  share?: boolean
  /** Whether the marks are named in the chart; among charts on one axis, one is enough. */
  named?: boolean
  /** The lines, by their places, between which it is filled. */
  band?: readonly [number, number]
  /** From when to when, in seconds; without it, as far as there are values. */
  span?: readonly [number, number] | undefined
}

const tones = { first: '--accent', second: '--second', third: '--third', limit: '--muted' } as const
const colour = (name: string): string => getComputedStyle(document.documentElement).getPropertyValue(name).trim()
/** All charts of a page point at the same moment. */
const together = uPlot.sync('time')

/** Asks for what is shown when it is drawn: marks and the span of time change while a chart is there. */
function optionsOf(shown: () => ChartProps, { width, point }: Canvas): uPlot.Options {
  const { lines, unit, share = false, band } = shown()
  const [ink, line] = [colour('--muted'), colour('--line')]
  const axis = { stroke: ink, grid: { stroke: line, width: 1 }, ticks: { show: false }, font: '11px system-ui', gap: 4 }
  return {
    width,
    height: 150,
    cursor: { sync: { key: together.key }, points: { size: 6 }, drag: { x: false, y: false } },
    legend: { show: false },
    padding: [8, 30, 0, 0],
    scales: {
      x: { range: (_, least, most) => spanOf(shown().span ?? [least, most]) },
      y: { range: (_, least, most) => [Math.min(0, least ?? 0), share ? 1 : Math.max(1, most ?? 1) * 1.08] },
    },
    axes: [
      {
        ...axis,
        space: 76,
        size: 28,
        values: (_, ticks, __, ___, step) =>
          ticks.map((tick) => axisClock(tick, { days: step >= 86_400, fine: step < 60 })),
      },
      { ...axis, size: 56, values: (_, ticks) => ticks.map((tick) => unit(tick)) },
    ],
    series: [
      {},
      ...lines.map(({ label, tone = 'first', fill = false }) => ({
        label,
        stroke: colour(tones[tone]),
        width: tone === 'limit' ? 1 : 1.6,
        ...(tone === 'limit' ? { dash: [4, 4] } : {}),
        ...(fill ? { fill: `${colour(tones[tone])}1f` } : {}),
        // One or two moments make no line.
        points: { show: () => shown().times.length < 3 },
        spanGaps: true,
      })),
    ],
    ...(band === undefined
      ? {}
      : { bands: [{ series: [band[0] + 1, band[1] + 1] as [number, number], fill: `${colour('--accent')}2e` }] }),
    hooks: {
      draw: [(chart) => drawMarks(chart, shown(), ink)],
      setCursor: [(chart) => point(chart.cursor.idx ?? undefined)],
    },
  }
}

/** A single moment is shown with some time around it. */
function spanOf([from, to]: readonly [number, number]): [number, number] {
  return from === to ? [from - 30, to + 30] : [from, to]
}

interface Canvas {
  width: number
  /** Told which moment the pointer is at; undefined: at none. */
  point: (at: number | undefined) => void
}

/** A line for each mark; where they have names and there is room, the name beside it. */
function drawMarks(chart: uPlot, { marks = [], named = false }: ChartProps, ink: string): void {
  const { ctx, bbox } = chart
  ctx.save()
  ctx.strokeStyle = ctx.fillStyle = ink
  ctx.font = `${10 * uPlot.pxRatio}px system-ui`
  ctx.textAlign = 'left'
  ctx.textBaseline = 'top'
  ctx.setLineDash([2, 3])
  // Names that would overlap go below each other.
  const free = [bbox.left, bbox.left, bbox.left]
  for (const { at, label } of marks.toSorted((a, b) => a.at - b.at)) {
    const x = Math.round(chart.valToPos(at, 'x', true))
    if (x < bbox.left || x > bbox.left + bbox.width) continue
    ctx.beginPath()
    ctx.moveTo(x, bbox.top)
    ctx.lineTo(x, bbox.top + bbox.height)
    ctx.stroke()
    const end = x + 4 + ctx.measureText(label).width
    const row = free.findIndex((from) => x >= from)
    if (!named || row < 0 || end > bbox.left + bbox.width) continue
    ctx.fillText(label, x + 4, bbox.top + 2 + row * 12 * uPlot.pxRatio)
    free[row] = end + 6
  }
  ctx.restore()
}

const dataOf = ({ times, lines }: ChartProps): uPlot.AlignedData =>
  [times, ...lines.map(({ values }) => values)] as unknown as uPlot.AlignedData

/** Writes into the legend what the lines show at a moment. Not a render: the pointer moves often. */
function tell(
  legend: HTMLUListElement | null,
  { lines, times, unit, marks = [] }: ChartProps,
  at: number | undefined,
): void {
  const values = legend?.querySelectorAll('b') ?? []
  for (const [index, place] of [...values].entries()) {
    const value = at === undefined ? undefined : lines[index]?.values[at]
    place.textContent = value === undefined || value === null ? '' : unit(value)
  }
  const moment = legend?.querySelector('.moment')
  if (moment) moment.textContent = at === undefined ? '' : momentOf({ times, marks }, at)
}

/** The time of day, and what happened between this moment and the next. */
function momentOf({ times, marks = [] }: Pick<ChartProps, 'times' | 'marks'>, at: number): string {
  const [from = 0, to = Number.POSITIVE_INFINITY] = [times[at], times[at + 1]]
  const labels = marks.filter((mark) => mark.at >= from && mark.at < to).map(({ label }) => label)
  return [clock(new Date(from * 1_000).toISOString()), ...labels].join(' · ')
}

/** Lines over time, with a legend that shows the values at the pointer. */
export function Chart(props: ChartProps): JSX.Element {
  const { title, summary, times, lines } = props
  const place = useRef<HTMLDivElement>(null)
  const chart = useRef<uPlot>()
  const legend = useRef<HTMLUListElement>(null)
  const latest = useRef(props)
  latest.current = props
  const shape = lines.map(({ label }) => label).join()
  useEffect(() => {
    const box = place.current
    if (box === null) return undefined
    const draw = (): void => {
      chart.current?.destroy()
      const point = (at: number | undefined): void => tell(legend.current, latest.current, at)
      const options = optionsOf(() => latest.current, { width: Math.max(240, box.clientWidth), point })
      chart.current = new uPlot(options, dataOf(latest.current), box)
    }
    draw()
    const resized = new ResizeObserver(() =>
      chart.current?.setSize({ width: Math.max(240, box.clientWidth), height: 150 }),
    )
    resized.observe(box)
    const dark = window.matchMedia('(prefers-color-scheme: dark)')
    dark.addEventListener('change', draw)
    window.addEventListener('sluice-theme', draw)
    return () => {
      resized.disconnect()
      dark.removeEventListener('change', draw)
      window.removeEventListener('sluice-theme', draw)
      chart.current?.destroy()
      chart.current = undefined
    }
  }, [shape])
  useEffect(() => chart.current?.setData(dataOf(props)), [times, lines])
  return (
    <figure class="chart">
      <figcaption>
        <h3>
          {title} <span class="muted">{summary}</span>
        </h3>
      </figcaption>
      <div ref={place} role="img" aria-label={`${title}: ${summary}`} />
      <ul class="legend" ref={legend}>
        {lines.map(({ label, tone = 'first' }) => (
          <li key={label} class={tone}>
            <i aria-hidden="true" />
            {label} <b aria-hidden="true" />
          </li>
        ))}
        <li class="moment" aria-hidden="true" />
      </ul>
    </figure>
  )
}
