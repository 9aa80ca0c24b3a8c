import { InvalidArgumentError } from 'commander'

/** The id of a job as it is typed. */
export function parseJobId(text: string): number {
  const id = /^[1-9]\d{0,15}$/.test(text) ? Number(text) : Number.NaN
  if (Number.isSafeInteger(id)) return id
  throw new InvalidArgumentError('It must be the number of a job, as "sluice jobs list" shows it.')
}
