import { InvalidArgumentError } from 'commander'

const iso = /^(\d{4})-(\d\d)-(\d\d)[T ]\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:?\d\d)$/

/** The value of an option that takes a moment. Without a zone it would mean something else on each machine. */
export function parseMoment(text: string): Date {
  const [, year, month, day] = iso.exec(text) ?? []
  const date = new Date(text.replace(' ', 'T'))
  // JavaScript takes 31 February for a day in March.
  const exists = new Date(Date.UTC(Number(year), Number(month) - 1, Number(day))).getUTCDate() === Number(day)
  if (year !== undefined && exists && !Number.isNaN(date.getTime())) return date
  throw new InvalidArgumentError('It must be a time with its zone, such as 2026-01-31T09:00:00Z.')
}
