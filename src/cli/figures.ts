import { formatDuration } from '../index.ts'

/** A number of things, for people. */
export function count(value: number): string {
  return Math.round(value).toLocaleString('en-US')
}

/** A share from 0 to 1 in percent. Rounded down: 100 % means all. */
export function percent(share: number): string {
  return `${Math.floor(share * 100)} %`
}

/** `1 row`, `2 rows`. */
export function plural(value: number, noun: string, nouns = `${noun}s`): string {
  return `${count(value)} ${value === 1 ? noun : nouns}`
}

/** A span of time in one unit, for columns: `now`, `4 s`, `3 min`, `2 d`. */
export function ago(ms: number): string {
  if (ms < 1_000) return 'now'
  const [figure = '', unit = ''] = formatDuration(ms).split(' ')
  return `${Math.floor(Number(figure))} ${unit}`
}

/** A moment, to the second and in UTC. */
export function moment(date: Date): string {
  return `${date.toISOString().slice(0, 19)}Z`
}

const units = ['bytes', 'kB', 'MB', 'GB', 'TB'] as const

/** A size on disk, as PostgreSQL counts: 1 kB is 1024 bytes. */
export function bytes(value: number): string {
  const power = Math.min(units.length - 1, Math.max(0, Math.floor(Math.log2(Math.max(1, value)) / 10)))
  const figure = value / 1024 ** power
  return `${power === 0 || figure >= 10 ? count(figure) : figure.toFixed(1)} ${units[power] ?? ''}`
}
