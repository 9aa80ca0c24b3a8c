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
