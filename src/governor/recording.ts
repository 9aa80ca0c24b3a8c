import { SluiceError } from '../errors.ts'
import { didYouMean } from '../std/suggest.ts'
import type { Simulation } from './simulator.ts'

/** Signals as they were at some seconds, in order; undefined: one could not be read then. */
export type Recording = readonly { second: number; values: Readonly<Record<string, number | undefined>> }[]

/** A day and a half of seconds is more than a plot shows. */
const longest = 129_600

/**
 * Reads recorded signals: JSON lines such as `{"second": 3, "replicaLag": 120}`, or CSV whose first line names `second`
 * and the signals. Null, or an empty place, is a signal that could not be read. Refuses what it does not understand.
 *
 * @example
 * ```ts
 * const recording = parseRecording('second,replicaLag\n0,0\n20,9000\n40,0\n', ['replicaLag'])
 * ```
 */
export function parseRecording(text: string, known: readonly string[]): Recording {
  const lines = text.split(/\r?\n/).map((line, i) => ({ line: line.trim(), number: i + 1 }))
  const filled = lines.filter(({ line }) => line !== '')
  const [first, ...rest] = filled
  if (first === undefined) throw refused('it is empty')
  const points = first.line.startsWith('{') ? filled.map(fromJson) : fromCsv(first, rest)
  points.forEach((point, i) => checkPoint(point, { before: points[i - 1], known }))
  return points.map(({ second, values }) => ({ second, values }))
}

/** A recording as a simulation takes it: at each second the last values until then. */
export function playRecording(recording: Recording): Pick<Simulation, 'seconds' | 'signals'> {
  const played: Recording[number]['values'][] = []
  for (const { second, values } of recording) {
    while (played.length < second) played.push(played.at(-1) ?? {})
    played.push(values)
  }
  return { seconds: played.length, signals: ({ second }) => played[second] ?? {} }
}

interface Place {
  line: string
  number: number
}

interface Point {
  second: number
  values: Record<string, number | undefined>
  number: number
}

function fromJson({ line, number }: Place): Point {
  let parsed: unknown
  try {
    parsed = JSON.parse(line)
  } catch (error) {
    throw refused(`line ${number} is not JSON: ${(error as Error).message}`)
  }
  if (typeof parsed !== 'object' || parsed === null) throw refused(`line ${number} is not an object`)
  const { second, ...values } = parsed as Record<string, unknown>
  const read = Object.entries(values).map(([name, value]) => [name, numberOf(value, { name, number })])
  return { second: secondOf(second, number), values: Object.fromEntries(read), number }
}

function fromCsv(head: Place, rows: readonly Place[]): Point[] {
  const names = head.line.split(',').map((name) => name.trim())
  const at = names.indexOf('second')
  if (at === -1) throw refused('its first line neither is JSON nor names a column "second"')
  if (rows.length === 0) throw refused('there is no line below the names of its columns')
  return rows.map(({ line, number }) => {
    const cells = line.split(',').map((cell) => cell.trim())
    if (cells.length !== names.length) {
      throw refused(`line ${number} has ${cells.length} places, and the first line names ${names.length}`)
    }
    const values = names.flatMap((name, i) => (i === at ? [] : [[name, cellOf(cells[i] ?? '', { name, number })]]))
    return { second: secondOf(Number(cells[at] || Number.NaN), number), values: Object.fromEntries(values), number }
  })
}

function cellOf(cell: string, place: { name: string; number: number }): number | undefined {
  return cell === '' ? undefined : numberOf(Number(cell), { ...place, cell })
}

function numberOf(value: unknown, place: { name: string; number: number; cell?: string }): number | undefined {
  if (value === null) return undefined
  if (typeof value === 'number' && Number.isFinite(value)) return value
  const found = place.cell ?? JSON.stringify(value)
  throw refused(`"${place.name}" in line ${place.number} must be a number, or nothing, not ${found}`)
}

function secondOf(value: unknown, number: number): number {
  if (typeof value === 'number' && value >= 0 && value < longest) return Math.floor(value)
  throw refused(`"second" in line ${number} must be a number from 0 and below ${longest}`)
}

function checkPoint(
  { second, values, number }: Point,
  { before, known }: { before: Point | undefined; known: readonly string[] },
): void {
  if (before !== undefined && second <= before.second) {
    throw refused(`line ${number} is not later than the one before it: second ${second} after ${before.second}`)
  }
  const stray = Object.keys(values).find((name) => !known.includes(name))
  if (stray !== undefined)
    throw refused(`line ${number} has "${stray}", which is no signal.${didYouMean(stray, known)}`)
}

function refused(problem: string): SluiceError {
  return new SluiceError('ARGS_INVALID', {
    message: `The recorded signals cannot be read: ${problem.replace(/\.$/, '')}.`.replace('?.', '?'),
    details: { problem },
  })
}
