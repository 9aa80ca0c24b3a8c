import type { JobQueue } from '../../jobs/queue.ts'
import type { Telemetry } from '../../telemetry/telemetry.ts'
import type { Database } from '../database.ts'
import { cancelBatch, liveChildren, liveMembers } from '../job-batches.ts'
import { reportBatches } from './endings.ts'

interface Deps {
  database: Database
  telemetry: Telemetry
  queue: JobQueue
}

const atOnce = 500

/** Ends the members of a cancelled batch of jobs, and those of the batches inside of it. Doing it again does no harm. */
export async function endMembers(deps: Deps, { id, reason }: { id: number; reason: string }): Promise<void> {
  const { control } = deps.database
  for (const child of await liveChildren(control, { id })) {
    const [cancelled] = await cancelBatch(control, { id: child.id, reason })
    reportBatches(deps.telemetry, cancelled?.news ?? [])
    await endMembers(deps, { id: child.id, reason })
  }
  for (let after = 0; ;) {
    const members = await liveMembers(control, { id, after, limit: atOnce })
    const ids = members.map((member) => member.id)
    if (ids.length > 0) await deps.queue.act('jobs', { ids, action: 'cancel', reason })
    if (ids.length < atOnce) return
    after = ids.at(-1) ?? after
  }
}
