import type { Mutant } from './mutant.ts'
import { jobClaims } from './jobs/claims.ts'
import { jobCosts } from './jobs/costs.ts'
import { jobEndings } from './jobs/endings.ts'
import { jobEnqueue } from './jobs/enqueue.ts'
import { jobKeys } from './jobs/keys.ts'
import { jobOwnership } from './jobs/ownership.ts'
import { jobRecovery } from './jobs/recovery.ts'
import { jobTransactions } from './jobs/transactions.ts'

/** Guards of jobs. */
export const jobs: readonly Mutant[] = [
  ...jobClaims,
  ...jobEndings,
  ...jobRecovery,
  ...jobKeys,
  ...jobOwnership,
  ...jobEnqueue,
  ...jobCosts,
  ...jobTransactions,
]
