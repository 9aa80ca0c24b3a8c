import { InvalidArgumentError } from 'commander'

/** The id of a batch of jobs as it is typed. */
export function parseBatchId(text: string): number {
  const id = /^[1-9]\d{0,15}$/.test(text) ? Number(text) : Number.NaN
  if (Number.isSafeInteger(id)) return id
  throw new InvalidArgumentError('It must be the number of a batch of jobs, as "sluice batches list" shows it.')
}
