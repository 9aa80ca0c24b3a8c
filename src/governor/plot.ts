import type { TracePoint } from './simulator.ts'

const bars = ' ▁▂▃▄▅▆▇█'
const width = 80

/**
 * A trace as text: one line per signal, then the pace, the rows and the holds, each from its least to its greatest.
 *
 * @example
 * ```ts
 * console.log(plotTrace(trace))
 * ```
 */
export function plotTrace(trace: readonly TracePoint[]): string {
  const names = [...new Set(trace.flatMap(({ values }) => Object.keys(values)))]
  const lines: [string, (number | undefined)[]][] = [
    ...names.map((name): [string, (number | undefined)[]] => [name, trace.map(({ values }) => values[name])]),
    ['pace', trace.map(({ share }) => share)],
    ['load', trace.map(({ load }) => load)],
    ['rows/s', trace.map(({ rowsPerSecond }) => rowsPerSecond)],
    ...(trace.some(({ size }) => size !== undefined)
      ? [['sub-batch', trace.map(({ size }) => size)] satisfies [string, (number | undefined)[]]]
      : []),
  ]
  const label = Math.max(...lines.map(([name]) => name.length), 4)
  const drawn = lines.map(([name, values]) => `${name.padEnd(label)} ${lineOf(values)}`)
  const held = squeeze(trace.map((point) => (point.held ? 1 : 0))).map((share) => ((share ?? 0) > 0 ? 'H' : '.'))
  const seconds = `${'s'.padEnd(label)} 0${String(trace.length).padStart(Math.min(width, trace.length) - 1)}`
  return [...drawn, `${'held'.padEnd(label)} ${held.join('')}`, seconds].join('\n')
}

function lineOf(values: readonly (number | undefined)[]): string {
  const known = values.filter((value) => value !== undefined)
  const most = Math.max(0, ...known)
  const drawn = squeeze(values).map((value) => {
    if (value === undefined) return '?'
    return bars[most === 0 ? 0 : eighths(value / most)] ?? ' '
  })
  return `${drawn.join('')}  up to ${Number.isInteger(most) ? most : most.toFixed(2)}`
}

/** Rounded up, but not for a last digit that differs from one release of Node to the next. */
const eighths = (share: number): number => Math.ceil(Number((share * (bars.length - 1)).toFixed(6)))

/** As many values as fit in a line; the greatest of those that share a place. */
function squeeze(values: readonly (number | undefined)[]): (number | undefined)[] {
  const places = Math.min(width, values.length)
  return Array.from({ length: places }, (_, i) => {
    const part = values.slice(Math.floor((i * values.length) / places), Math.floor(((i + 1) * values.length) / places))
    const known = part.filter((value) => value !== undefined)
    return known.length === 0 ? undefined : Math.max(...known)
  })
}
