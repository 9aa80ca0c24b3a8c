import type { Database } from '../../store/database.ts'
import type { BatchFacts, Entered } from '../target.ts'
import { settledScope } from './age-limit.ts'
import { quarantinedWithin } from './quarantined.ts'
import { strideOf, noStrides } from './strides.ts'
import { mayKeepRows } from './surroundings.ts'

/** Looks at what lies before a batch. */
export async function enter(database: Database, batch: BatchFacts): Promise<Entered> {
  const { control } = database
  const scope = await settledScope(control, batch)
  const keeps = await mayKeepRows(control, batch.walk.table)
  const quarantined = batch.pass === 1 ? [] : await quarantinedWithin(control, batch)
  return {
    walk: batch.carve === 'sparse' && scope !== undefined ? { ...batch.walk, only: scope } : batch.walk,
    scope,
    mayKeepRows: keeps,
    quarantined,
    strides: keeps ? noStrides : await strideOf(database, batch, scope),
    // A pooler needs a transaction for our limits.
    mayBeOne: !database.pooled && !keeps,
    // What the second pass must not miss when it looks for rows that were left.
    since:
      batch.reads === 'replica' && batch.pass !== 1 ? await database.replica?.position(database.control) : undefined,
  }
}
