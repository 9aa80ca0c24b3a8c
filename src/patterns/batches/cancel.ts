import type { Jobs } from '../../jobs/jobs.ts'
import { reportBatches } from '../../jobs/members.ts'
import type { Database } from '../../store/database.ts'
import { cancelBatch, liveChildren, liveMembers } from '../../store/job-batches.ts'
import type { Telemetry } from '../../telemetry/telemetry.ts'

interface Deps {
  database: Database
  telemetry: Telemetry
  jobs: Jobs
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
    if (ids.length > 0) await deps.jobs.actOn(ids, { action: 'cancel', reason })
    if (ids.length < atOnce) return
    after = ids.at(-1) ?? after
  }
}
