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
