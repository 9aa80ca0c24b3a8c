import { formatDuration, type QueueStatus } from '../../index.ts'
import { count } from '../figures.ts'

/** How many jobs may start per time: `100 per 1 min`. */
export function rateText({ limit, perMs }: NonNullable<QueueStatus['rate']>): string {
  return `${count(limit)} per ${formatDuration(perMs).replace('.0 ', ' ')}`
}
