import {
  Sluice,
  type OperationDefinition,
  type OperationPlan,
  type OperationPlanOptions,
  type PlanFinding,
} from '../../src/index.ts'
import type { TestDatabase } from '../support/database.ts'
import { testProfile } from '../support/worker.ts'

/** The plan of an operation, as a worker's role sees it. */
export async function planOf(
  db: TestDatabase,
  definition: OperationDefinition,
  options: OperationPlanOptions = {},
): Promise<OperationPlan> {
  await using sluice = new Sluice({ ...testProfile, database: db.workerUrl, operations: [definition] })
  return await sluice.operations.plan(definition.name, undefined, options)
}

/** What the plan finds by one check, without a dry run. */
export async function findingsOf(
  db: TestDatabase,
  definition: OperationDefinition,
  check: PlanFinding['check'],
): Promise<PlanFinding[]> {
  const { findings } = await planOf(db, definition, { dryRun: false })
  return findings.filter((finding) => finding.check === check)
}
