import type { KeptHistory, Rescued, RescueOrder } from '../../jobs/queue.ts'
import type { Telemetry } from '../../telemetry/telemetry.ts'
import type { Database } from '../database.ts'
import { isolatePoison, reportBatches } from './endings.ts'
import { admitWaiting, createJobPartitions, dropJobPartitions, forgetCancels, rescueJobs } from './rescue.ts'
import { admitBehind } from './settle.ts'

const partitionsEveryMs = 3_600_000

/** Frees what silent workers hold, and isolates the jobs that killed their workers again and again. */
export async function rescueSilent(
  deps: { database: Database; telemetry: Telemetry },
  { leaseMs, crashes }: NonNullable<RescueOrder['silent']>,
): Promise<Pick<Rescued, 'freed' | 'isolated'>> {
  const rows = await rescueJobs(deps.database.control, { leaseMs })
  const freed = rows.map(({ worker_id: workerId, ...job }) => ({ ...job, workerId }))
  const isolated = await isolate(deps, crashes).catch((error: unknown) => {
    // What was freed must be told; the next sweep isolates.
    if (freed.length === 0) throw error
    return []
  })
  return { freed, isolated }
}

async function isolate(
  { database, telemetry }: { database: Database; telemetry: Telemetry },
  crashes: number,
): Promise<Rescued['isolated']> {
  const { poison, news } = await isolatePoison(database, crashes)
  reportBatches(telemetry, news)
  const keys = poison.flatMap(({ key }) => (key === null ? [] : [key]))
  if (keys.length > 0) await admitBehind(database.control, { keys })
  await forgetCancels(database.control)
  return poison
}

/** What every worker does now and then for the jobs of all: no leader, and no harm when several do it at once. */
export class Maintenance {
  readonly #database: Database
  #partitionsAt = 0
  /** The concurrency key after which the next look goes on; null: from the first. */
  #after: string | null = null

  constructor(database: Database) {
    this.#database = database
  }

  /** Lets in what is due or has room, and gives how many. */
  async turn(kept: KeptHistory | undefined): Promise<{ admitted: number; more: boolean }> {
    const { control } = this.#database
    const now = performance.now()
    if (kept !== undefined && now >= this.#partitionsAt) {
      await createJobPartitions(control)
      await dropJobPartitions(control, kept)
      this.#partitionsAt = now + partitionsEveryMs
    }
    const { admitted, next } = await admitWaiting(control, { after: this.#after })
    this.#after = next
    return { admitted, more: next !== null }
  }
}
