import type { Mutant } from './mutant.ts'
import { claims } from './operations/claims.ts'
import { connections } from './operations/connections.ts'
import { endings } from './operations/endings.ts'
import { errors } from './operations/errors.ts'
import { fences } from './operations/fences.ts'
import { starts } from './operations/starts.ts'
import { subBatches } from './operations/sub-batches.ts'

/** Guards of operations and their batches. */
export const operations: readonly Mutant[] = [
  ...fences,
  ...subBatches,
  ...claims,
  ...endings,
  ...starts,
  ...errors,
  ...connections,
]
