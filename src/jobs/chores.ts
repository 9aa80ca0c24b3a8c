import { errorRecord } from '../std/error-record.ts'
import { ticks } from '../std/sleep.ts'
import type { Database } from '../store/database.ts'
import { admitBehind } from '../store/jobs/settle.ts'
import {
  admitWaiting,
  createJobPartitions,
  dropJobPartitions,
  forgetCancels,
  rescueJobs,
} from '../store/jobs/rescue.ts'
import type { Telemetry } from '../telemetry/telemetry.ts'
import { isolatePoison, reportBatches } from './members.ts'

export interface ChoreOrder {
  database: Database
  telemetry: Telemetry
  leaseMs: number
  keepDays: number
  keepDeadDays: number
  signal: AbortSignal
  /** Called when a chore has readied jobs. */
  wake: () => void
}

const admitEveryMs = 1_000
const partitionsEveryMs = 3_600_000
/** A worker may die for other reasons: twice is bad luck. */
const poisonCrashes = 3

/** What every worker does now and then for the jobs of all: no leader, and no harm when several do it at once. */
export async function keepJobs(order: ChoreOrder): Promise<void> {
  let [partitionsAt, sweepAt] = [0, 0]
  let after: string | null = null
  for await (const _ of ticks(admitEveryMs, order.signal)) {
    const now = performance.now()
    try {
      if (now >= partitionsAt) {
        await createJobPartitions(order.database.control)
        await dropJobPartitions(order.database.control, order)
        partitionsAt = now + partitionsEveryMs
      }
      if (now >= sweepAt) {
        await sweep(order)
        sweepAt = now + order.leaseMs / 3
      }
      const { admitted, next } = await admitWaiting(order.database.control, { after })
      after = next
      if (admitted > 0) order.wake()
    } catch (error) {
      // The next tick tries again; the loops that take work report what the database says.
      if (order.signal.aborted) return
      order.telemetry.emit('warning', { message: `Sweep of jobs failed: ${errorRecord(error).message}` })
    }
  }
}

async function sweep({ database, telemetry, leaseMs, wake }: ChoreOrder): Promise<void> {
  const { control } = database
  const rescued = await rescueJobs(control, { leaseMs })
  for (const { id, name, worker_id, crashes } of rescued) {
    telemetry.emit('job.rescued', { jobId: id, name, workerId: worker_id, crashes })
  }
  const { poison, news } = await isolatePoison(database, poisonCrashes)
  reportBatches(telemetry, news)
  for (const { id, name, queue, crashes } of poison) {
    const reason = `its worker died ${crashes} times while it ran`
    telemetry.emit('job.quarantined', { jobId: id, name, queue, reason, error: null })
  }
  const keys = poison.flatMap(({ key }) => (key === null ? [] : [key]))
  if (keys.length > 0) await admitBehind(control, { keys })
  await forgetCancels(control)
  if (rescued.length > 0) wake()
}
