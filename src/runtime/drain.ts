/**
 * Draining: how a person ends a worker from afar.
 *
 * The model. The request is a mark in the row of the worker. The worker reads it with its next sign of life, takes no
 * new work from then on, lets what runs end in its own time, and leaves as after a stop.
 *
 * The invariants. A worker has an id of its own for each start, so a mark never meets a process that was started anew.
 * A signal to the process still ends it within its patience.
 *
 * On a crash the row is forgotten with its mark, and others take over as always.
 */
import { SluiceError } from '../errors.ts'
import { storable } from '../std/storable.ts'
import { audited } from '../store/audit.ts'
import type { Database } from '../store/database.ts'
import { refuseStale, type Seen } from '../store/expected.ts'
import { askToDrain } from '../store/workers.ts'

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** Who asks it, from where and why, and whether they have seen the worker at work or about to end. */
export type DrainOptions = Seen<'working' | 'draining'>

/** Asks a worker to end; false: somebody has asked before. */
export async function drain(database: Database, id: string, who: DrainOptions): Promise<boolean> {
  const actor = who.actor === undefined ? null : storable(who.actor, 2_000)
  const found = await audited(database, who, async (tx) => {
    const [result] = uuid.test(id) ? await askToDrain(tx, { id, actor }) : []
    if (result !== undefined) refuseStale(`Worker ${id}`, result.asked ? 'working' : 'draining', who)
    const act = { action: 'worker.drain', target: id, before: { state: 'working' }, after: { state: 'draining' } }
    return { result, act: result?.asked === true ? act : undefined }
  })
  if (found !== undefined) return found.asked
  throw new SluiceError('WORKER_NOT_FOUND', {
    message: `There is no worker ${storable(id, 100)}. It may have ended; "sluice workers list" shows those that are there.`,
    details: { id: storable(id, 100) },
  })
}
