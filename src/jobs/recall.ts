import { backoffMs } from '../std/backoff.ts'
import { errorRecord } from '../std/error-record.ts'
import { sleep } from '../std/sleep.ts'
import type { Database } from '../store/database.ts'
import { completedBy, type JobClaim, type Span } from '../store/jobs/settle.ts'
import type { Telemetry } from '../telemetry/telemetry.ts'
import { serverTimeOf, type Attempt } from './attempt.ts'

/** History is asked about so much time at once: some 100,000 rows where it is busy. */
const spanMs = 300_000
/** So often, before what cannot be found out counts as lost. Nothing but what is told of it depends on that. */
const mostTries = 10

/** An ending that may have been written, and when it was first sent. */
interface Sent {
  attempt: Attempt
  ending: JobClaim
  sentMs?: number
}

interface Deps {
  database: Database
  telemetry: Telemetry
}

/**
 * Which completions were written although no answer came. What had been written and what others had taken over look the
 * same to a second write. History tells them apart: it is read from the first write on, in small spans of time, because
 * it may hold millions of jobs.
 */
export async function writtenOf<S extends Sent>(sent: readonly S[], deps: Deps): Promise<Set<S>> {
  const left = new Set(sent)
  const written = new Set<S>()
  const now = performance.now()
  const from = Math.min(...sent.map(({ attempt, sentMs = now }) => serverTimeOf(attempt, sentMs)))
  const until = Math.max(...sent.map(({ attempt }) => serverTimeOf(attempt, now)))
  for (let fromMs = from; left.size > 0 && fromMs <= until; fromMs += spanMs) {
    const toMs = fromMs + spanMs
    const claims = [...left].map(({ ending }) => ending)
    const found = await completed(claims, toMs > until ? { fromMs } : { fromMs, toMs }, deps)
    const keys = new Set(found.map(keyOf))
    for (const one of left) if (keys.has(keyOf(one.ending)) && left.delete(one)) written.add(one)
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

const keyOf = ({ id, claimId }: JobClaim): string => `${id} ${claimId}`
