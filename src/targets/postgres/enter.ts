import type { Database } from '../../store/database.ts'
import type { BatchFacts, Entered } from '../target.ts'
import { walkOfKind } from '../walk.ts'
import { meantBy } from '../work.ts'
import { settledScope } from './age-limit.ts'
import { quarantinedWithin } from './quarantined.ts'
import { strideOf, noStrides } from './strides.ts'
import { mayKeepRows } from './surroundings.ts'

/** Looks at what lies before a batch. */
export async function enter(database: Database, batch: BatchFacts): Promise<Entered> {
  const { control } = database
  const scope = await settledScope(control, batch)
  const meant = batch.changes.aged === undefined ? meantBy(batch.bound, batch.startedAt) : scope
  const walk = walkOfKind(batch.walk, batch.kind, meant)
  const keeps = await mayKeepRows(control, walk.table)
  const quarantined = batch.pass === 1 ? [] : await quarantinedWithin(control, { ...batch, walk })
  return {
    walk,
    scope,
    mayKeepRows: keeps,
    quarantined,
    strides: keeps ? noStrides : await strideOf(database, { ...batch, walk }, scope),
    // A pooler needs a transaction for our limits.
    mayBeOne: !database.pooled && !keeps,
    // What the second pass must not miss when it looks for rows that were left.
    since:
      batch.reads === 'replica' && batch.pass !== 1 ? await database.replica?.position(database.control) : undefined,
  }
}
