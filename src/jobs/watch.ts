import { ticks } from '../std/sleep.ts'
import { JobCancelled, type Attempt } from './attempt.ts'
import { claimKey, JobLost } from './ending.ts'
import { JobTimeout } from './policy.ts'
import type { JobQueue, QueueWorker } from './queue.ts'

/** Handlers that run shorter than this are not asked about. */
const shortMs = 1_000

/** Tells handlers to stop whose time is over. One clock for all of them: a timer for each would cost more. */
export async function watchTime(running: ReadonlySet<Attempt>, signal: AbortSignal): Promise<void> {
  for await (const _ of ticks(100, signal)) {
    const now = performance.now()
    for (const { definition, stop, since, waiting } of running) {
      const { timeoutMs } = definition
      if (!waiting && now - since > timeoutMs)
        stop.stop(new JobTimeout(`The attempt took longer than ${timeoutMs} ms.`))
    }
  }
}

/** Tells handlers to stop whose job is cancelled, or not ours any more. */
export async function watchClaims(
  running: ReadonlySet<Attempt>,
  { queue, worker, signal }: { queue: JobQueue; worker: QueueWorker; signal: AbortSignal },
): Promise<void> {
  for await (const _ of ticks(1_000, signal)) {
    const now = performance.now()
    const old = [...running].filter(({ since }) => now - since > shortMs)
    if (old.length === 0) continue
    const claims = old.map(({ job, claimId }) => ({ id: job.id, claimId }))
    // Without an answer nothing is known; the next tick asks again.
    const fates = await queue.look(worker, claims).catch(() => undefined)
    for (const { job, claimId, stop } of fates === undefined ? [] : old) {
      const fate = fates?.get(claimKey({ id: job.id, claimId }))
      if (typeof fate === 'object') stop.stop(new JobCancelled(fate.cancelling))
      else if (fate === undefined) stop.stop(new JobLost('the job belongs to another worker now'))
    }
  }
}
