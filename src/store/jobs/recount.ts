import type { UnclearBatch } from '../../patterns/batches/batch-store.ts'
import type { Database } from '../database.ts'
import { completedMembers, mendBatch, type BatchNews } from '../job-batches.ts'

/** How much time of history is read at once: some 100,000 rows where it is busy. */
const spanMs = 300_000

interface RecountOptions {
  database: Pick<Database, 'control'>
  keepDays: number
  stopping: AbortSignal
}

/**
 * Counts the members of a batch that history knows, and mends the batch by their number. History may hold millions of
 * jobs: it is read in small spans of time, and without a lock, so that nobody waits for it. Members that end meanwhile
 * make the number worthless, which the database notices; the next sweep then begins anew.
 */
export async function recount(
  { batchId: id, seen, gone, fromMs, untilMs }: UnclearBatch,
  { database: { control }, keepDays, stopping }: RecountOptions,
): Promise<BatchNews[]> {
  let completed = 0
  for (let from = fromMs; completed < gone && from <= untilMs; from += spanMs) {
    if (stopping.aborted) return []
    const to = from + spanMs
    const [span] = await completedMembers(control, to > untilMs ? { id, fromMs: from } : { id, fromMs: from, toMs: to })
    completed += span?.completed ?? 0
  }
  const [mended] = await mendBatch(control, { id, keepDays, recount: { seen, completed } })
  return (mended?.news ?? []).filter((one) => one.event !== 'unclear')
}
