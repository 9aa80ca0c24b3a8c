import { claimKey, type JobClaim } from '../../jobs/ending.ts'
import type { EndedBetween } from '../../jobs/queue.ts'
import { backoffMs } from '../../std/backoff.ts'
import { errorRecord } from '../../std/error-record.ts'
import { sleep } from '../../std/sleep.ts'
import type { Telemetry } from '../../telemetry/telemetry.ts'
import type { Database } from '../database.ts'
import { completedBy, type Span } from './settle.ts'

/** History is read in spans of this length: some 100,000 rows where it is busy. */
const spanMs = 300_000
/** After so many attempts, what cannot be found out counts as lost. Only reports depend on that. */
const mostTries = 10

interface Deps {
  database: Database
  telemetry: Telemetry
}

/**
 * Which claims completed their jobs in a time, by their keys. A second write of a completion cannot tell what had been
 * written before from what others have taken over. History can: it is read from the first write on, in small spans of
 * time, because it may hold millions of jobs.
 */
export async function completedAmong(
  claims: readonly JobClaim[],
  { fromMs: from, untilMs: until }: EndedBetween,
  deps: Deps,
): Promise<Set<string>> {
  const left = new Map(claims.map((claim) => [claimKey(claim), claim]))
  const written = new Set<string>()
  for (let fromMs = from; left.size > 0 && fromMs <= until; fromMs += spanMs) {
    const toMs = fromMs + spanMs
    const found = await completed([...left.values()], toMs > until ? { fromMs } : { fromMs, toMs }, deps)
    for (const key of found.map(claimKey)) if (left.delete(key)) written.add(key)
  }
  return written
}

async function completed(claims: readonly JobClaim[], span: Span, { database, telemetry }: Deps): Promise<JobClaim[]> {
  for (let attempt = 1; attempt <= mostTries; attempt++) {
    try {
      return await completedBy(database.control, { claims, ...span })
    } catch (error) {
      const waitMs = backoffMs(attempt, { baseMs: 50, maxMs: 5_000 }, Math.random())
      telemetry.emit('connection.lost', { purpose: 'job completion', error: errorRecord(error), attempt, waitMs })
      await sleep(waitMs)
    }
  }
  return []
}
