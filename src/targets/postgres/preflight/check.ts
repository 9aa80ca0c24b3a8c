/**
 * The preflight: what is looked at before an operation starts.
 *
 * The model. A start looks at the catalogue and has the server plan the statements that will run again and again; both
 * cost a few milliseconds and read no rows but those of two windows' keys. What it finds is a list of findings, each with
 * a severity. One that says `refuse` ends the start, unless it is forced, and a forced one is told in the history.
 * `sluice ops plan` looks at more: it samples windows along the key and runs one sub-batch, which it rolls back.
 *
 * The invariants. The checks have a connection of their own, so they can neither end nor hold up the caller's
 * transaction; they wait for a lock for a fifth of a second, and what they could not look at is said. They write
 * nothing, and a crash among them leaves nothing.
 *
 * Decisions.
 * - The last key is the exception: it is read in the caller's transaction, so that it includes rows which the caller
 *   has just inserted.
 * - Plans are requested, not guessed. The statements to explain are recorded from the functions that run them later, so
 *   the two cannot differ. If the planner would read a small table whole, it is asked again with only indexes to choose
 *   from. If it expects few rows, its estimate is accepted.
 */
import { sqlstate } from '../../../store/sqlstate.ts'
import type { Pool } from '../../../store/pool.ts'
import { agedPartitions, readGround, readSurroundings, type AgedPartition, type Surroundings } from '../surroundings.ts'
import { readPages } from '../stride.ts'
import { chooseStride } from '../strides.ts'
import type { Changes } from '../../changes.ts'
import type { Connection } from '../../../store/connection.ts'
import type { Database } from '../../../store/database.ts'
import type { Checks, CheckUp, PlanFinding, Subject } from '../../findings.ts'
import { findAround } from './around.ts'
import { lookAtPlans, type Walked } from './plans.ts'

/** The checks may hold nobody up. */
const limits = { statementMs: 2_000, lockMs: 200 }

/** Looks at what can be looked at in a few milliseconds; at both at once. */
export async function checkUp(checks: Pool, { lower, end, startedAt, lanes, ...subject }: Subject): Promise<CheckUp> {
  const { table, cursor } = subject.walk
  const [ground, surroundings, pages] = await Promise.all([
    readGround(checks, table),
    readSurroundings(checks, table),
    readPages(checks, table, cursor.columns[0] ?? ''),
  ])
  const [plans, aged] = await Promise.all([
    end === null ? noPlans : plansOf(checks, { ...subject, ground, range: { lower, upper: end } }),
    partitionsToDrop(checks, { table, startedAt, surroundings, changes: subject.changes }),
  ])
  const stride = chooseStride({ changes: subject.changes, lanes, indexes: surroundings.indexes, pages })
  return { ...plans, around: (changes) => findAround({ table, ground, surroundings, changes, aged, stride }) }
}

/** Looks at the plans of an operation that runs, which is kept waiting for no lock. */
export async function checkPlans(
  { control }: Pick<Database, 'control'>,
  { lower, end, ...walked }: Parameters<Checks['plans']>[0],
): Promise<PlanFinding[]> {
  const ground = await readGround(control, walked.walk.table)
  const looked = { ...walked, ground, range: { lower, upper: end } }
  const look = (transaction: Connection): ReturnType<typeof lookAtPlans> => lookAtPlans(transaction, looked)
  return (await control.transaction(look, { statementMs: 2_000, lockMs: 100 })).findings
}

type Plans = Pick<CheckUp, 'findings' | 'statements'>

const noPlans: Plans = { findings: [], statements: [] }

async function plansOf(checks: Pool, walked: Walked): Promise<Plans> {
  try {
    return await checks.transaction((transaction) => lookAtPlans(transaction, walked), limits)
  } catch (error) {
    // Without a connection nothing will start; anything else must not keep it from starting.
    if (sqlstate(error) === undefined) throw error
    return { ...noPlans, findings: [unchecked(walked.walk.table, error as Error)] }
  }
}

async function partitionsToDrop(
  checks: Pool,
  place: { table: string; startedAt: string; surroundings: Surroundings; changes: Changes },
): Promise<AgedPartition[]> {
  const { table, startedAt, surroundings, changes } = place
  if (changes.aged === undefined || surroundings.partitionColumn !== changes.aged.by) return []
  return agedPartitions(checks, table, { startedAt, ...changes.aged })
}

function unchecked(table: string, error: Error): PlanFinding {
  return {
    check: 'unchecked',
    severity: 'note',
    what: `The plans for ${table} could not be looked at: ${error.message}`,
    why: 'Whether its statements find their rows by an index is not known',
    remedy: 'Ask again when the table is free: sluice ops plan',
  }
}
