import type { StoreConnection } from '../../src/store/connection.ts'
import type { openClient } from './jobs.ts'

/** The parts of a plan that tell how rows are found. */
interface PlanNode {
  'Node Type': string
  'Relation Name'?: string
  'Index Name'?: string
  Plans?: PlanNode[]
}

/** How one statement finds its rows. */
export interface PlannedStatement {
  /** Tables that are read from end to end. */
  scanned: string[]
  indexes: string[]
}

/** A connection that asks for the plan of each statement before it runs it. */
export function explaining(client: Awaited<ReturnType<typeof openClient>>): {
  connection: StoreConnection
  plans: PlannedStatement[]
} {
  const plans: PlannedStatement[] = []
  const connection: StoreConnection = {
    schema: 'sluice',
    async query(text, values) {
      const { rows } = await client.query<{ 'QUERY PLAN': [{ Plan: PlanNode }] }>(
        `explain (format json) ${text}`,
        values,
      )
      const nodes = rows.flatMap(({ 'QUERY PLAN': [{ Plan: plan }] }) => nodesOf(plan))
      plans.push({
        scanned: nodes.flatMap((node) => (node['Node Type'] === 'Seq Scan' ? (node['Relation Name'] ?? []) : [])),
        indexes: nodes.flatMap((node) => node['Index Name'] ?? []),
      })
      return client.query(text, values)
    },
  }
  return { connection, plans }
}

const nodesOf = (plan: PlanNode): PlanNode[] => [plan, ...(plan.Plans ?? []).flatMap(nodesOf)]
