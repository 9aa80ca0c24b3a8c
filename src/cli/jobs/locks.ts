import type { LockView } from '../../index.ts'
import { moment } from '../figures.ts'
import { tableLines } from '../layout.ts'
import type { Line, Part } from '../output.ts'

const columns = [
  { title: 'name', least: 12 },
  { title: 'key', least: 16 },
  { title: 'job', align: 'right' },
  { title: 'until' },
  { title: 'expires' },
] as const

/** Unique keys that are taken, in a table. */
export function lockTable(locks: readonly LockView[], now: Date, width?: number): Line[] {
  const rows = locks.map(({ name, key, job_id, until, expires_at }): Part[] => [
    ['bold', name],
    key,
    String(job_id),
    until,
    expiryPart(expires_at, now),
  ])
  return tableLines(columns, rows, width)
}

/** A lock that has run out stays until somebody takes it over. */
function expiryPart(expiresAt: Date | null, now: Date): Part {
  if (expiresAt === null) return 'never'
  return expiresAt <= now ? ['dim', 'expired'] : moment(expiresAt)
}

/** A lock for programs, in the names of the rest of the answer. */
export function lockRecord({ name, key, job_id, until, expires_at }: LockView): Record<string, unknown> {
  return { name, key, jobId: job_id, until, expiresAt: expires_at }
}
