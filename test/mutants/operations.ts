import type { Mutant } from './mutant.ts'
import { claims } from './operations/claims.ts'
import { connections } from './operations/connections.ts'
import { endings } from './operations/endings.ts'
import { errors } from './operations/errors.ts'
import { fences } from './operations/fences.ts'
import { plans } from './operations/plans.ts'
import { starts } from './operations/starts.ts'
import { subBatches } from './operations/sub-batches.ts'
import { tables } from './operations/tables.ts'
import { walks } from './operations/walks.ts'

/** Guards of operations and their batches. */
export const operations: readonly Mutant[] = [
  ...fences,
  ...subBatches,
  ...claims,
  ...endings,
  ...starts,
  ...plans,
  ...walks,
  ...tables,
  ...errors,
  ...connections,
]
