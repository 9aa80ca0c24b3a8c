import { errorRecord } from '../std/error-record.ts'
import { ticks } from '../std/sleep.ts'
import type { Telemetry } from '../telemetry/telemetry.ts'
import type { JobQueue, KeptHistory, QueueWorker } from './queue.ts'

interface ChoreOrder {
  queue: JobQueue
  worker: QueueWorker
  telemetry: Telemetry
  leaseMs: number
  kept: KeptHistory
  signal: AbortSignal
}

const admitEveryMs = 1_000
/** A worker may die for other reasons: twice is bad luck. */
const poisonCrashes = 3

/** What every worker does now and then for the jobs of all: no leader, and no harm when several do it at once. */
export async function keepJobs(order: ChoreOrder): Promise<void> {
  const { queue, worker, leaseMs, kept } = order
  let sweepAt = 0
  for await (const _ of ticks(admitEveryMs, order.signal)) {
    const now = performance.now()
    try {
      try {
        await queue.maintain(worker, kept)
      } finally {
        // Whatever is in the way of the rest, the jobs of dead workers are freed.
        if (now >= sweepAt) {
          await sweep(order)
          sweepAt = now + leaseMs / 3
        }
      }
    } catch (error) {
      // The next tick tries again; the loops that take work report what the database says.
      if (order.signal.aborted) return
      order.telemetry.emit('warning', { message: `Sweep of jobs failed: ${errorRecord(error).message}` })
    }
  }
}

async function sweep({ queue, worker, telemetry, leaseMs }: ChoreOrder): Promise<void> {
  const { freed, isolated } = await queue.rescue(worker, { silent: { leaseMs, crashes: poisonCrashes } })
  for (const { id, ...about } of freed) telemetry.emit('job.rescued', { jobId: id, ...about })
  for (const { id, name, queue: inQueue, crashes } of isolated) {
    const reason = `its worker died ${crashes} times while it ran`
    telemetry.emit('job.quarantined', { jobId: id, name, queue: inQueue, reason, error: null })
  }
}
