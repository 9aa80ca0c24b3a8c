import { createHash } from 'node:crypto'
import type { Sql } from 'sql-template-tag'
import type { SluiceError } from '../errors.ts'
import type { Connection, StoreConnection } from '../store/connection.ts'
import * as operations from '../store/operations.ts'
import type { Pool } from '../store/pool.ts'
import type { Json } from '../std/json.ts'
import { checkScope } from '../targets/change.ts'
import { checkOrder, readKey, resolveCursor, type Cursor } from '../targets/cursor.ts'
import { checkForeign, checkSettable, checkZone, describeTable } from '../targets/table.ts'
import { problemOfWalk } from '../targets/sparse.ts'
import { lastKey, type Walk } from '../targets/window.ts'
import { findAround } from './preflight/around.ts'
import type { Changes } from './preflight/changes.ts'
import { checkUp, type CheckUp } from './preflight/check.ts'
import { bySeverity, type PlanFinding } from './preflight/finding.ts'
import { walkBy } from './walk.ts'
import type { BoundOperation, OperationDefinition } from './definition.ts'
import { firstSizes } from './size.ts'

/** What the checks found out for the operation to be recorded. */
type Planned = Pick<
  operations.NewOperation,
  'table' | 'cursorColumns' | 'cursorTypes' | 'lowerKey' | 'carveEnd' | 'rowsEstimate'
>

export interface Bounds {
  min: readonly unknown[] | undefined
  max: readonly unknown[] | undefined
  /** Under which finished runs of a recurring operation leave their last key. */
  mark: string
}

/** An operation that could be recorded, and all that was found on the way. */
export interface Prepared extends CheckUp {
  planned: Planned
  bound: BoundOperation
  walk: Walk
  scope: Sql | undefined
  startedAt: string
}

/**
 * Does all the checks and writes nothing. The checks have a connection of their own, because one that fails would end
 * the user's transaction with it. What only makes it slow is a finding; whether it is refused is for the caller to say.
 */
export async function plan(
  { checks, reads }: { checks: Pool; reads: Connection },
  definition: OperationDefinition,
  { args, bounds }: { args: Json; bounds: Bounds },
): Promise<Prepared> {
  const bound = await definition.bind(args)
  const shape = await describeTable(checks, definition.table)
  checkForeign(shape, checks.schema)
  checkSettable(shape, definition.changes.columns ?? [])
  checkZone(shape, definition.changes.timed)
  const problems: SluiceError[] = []
  const cursor = resolveCursor(shape, definition.cursor, (problem) => problems.push(problem))
  await checkOrder(checks, shape.qualifiedName, cursor)
  const startedAt = new Date().toISOString()
  const scope = bound.scope(startedAt)
  if (scope !== undefined) await checkScope(checks, shape.qualifiedName, scope)
  const walk = walkBy({ table: shape.qualifiedName, cursor }, { carve: definition.carve, scope })
  if (walk.only !== undefined) {
    const problem = await checks.transaction((transaction) => problemOfWalk(transaction, walk))
    if (problem !== undefined) problems.push(problem)
  }
  const max = bounds.max === undefined ? undefined : await readKey(checks, cursor, bounds.max)
  const planned: Planned = {
    table: shape.qualifiedName,
    cursorColumns: cursor.columns,
    cursorTypes: cursor.types,
    lowerKey: await lowerKey(checks, { definition, cursor, bounds }),
    carveEnd: max ?? (await lastKey(reads, walk)),
    rowsEstimate: Math.round(shape.rowsEstimate),
  }
  const { changes, lanes } = definition
  const range = { lower: planned.lowerKey, end: planned.carveEnd }
  const checked = await checkUp(checks, { walk, scope, changes, lanes, ...firstSizes(definition), startedAt, ...range })
  const findings = [...problems.map(findingOf), ...withoutEchoes(checked.findings, problems)]
  return { ...checked, findings, planned, bound, walk, scope, startedAt }
}

/** All that was found, the gravest first, when the operation does this to its rows. */
export function findingsOn(
  { findings, planned, ground, surroundings, aged, stride }: Prepared,
  changes: Changes,
): PlanFinding[] {
  return bySeverity([...findings, ...findAround({ table: planned.table, ground, surroundings, changes, aged, stride })])
}

function findingOf(problem: SluiceError): PlanFinding {
  const [what = '', ...rest] = problem.message.split(/(?<=\.) (?=[A-Z])/)
  return {
    check: 'cursor',
    severity: 'refuse',
    code: problem.code,
    what: what.replace(/(, so each step would read the whole table)?\.$/, ''),
    why: 'Each step could read the whole table',
    remedy: rest.join(' ').replace(/\.$/, ''),
  }
}

/** What the catalogue has told already need not be told again by the plan. */
function withoutEchoes(findings: readonly PlanFinding[], problems: readonly SluiceError[]): PlanFinding[] {
  return findings.filter(({ check }) => problems.length === 0 || check !== 'scan')
}

async function lowerKey(
  connection: StoreConnection,
  { definition, cursor, bounds }: { definition: OperationDefinition; cursor: Cursor; bounds: Bounds },
): Promise<operations.Key | null> {
  if (bounds.min !== undefined) return readKey(connection, cursor, bounds.min)
  if (definition.recur === 'restart') return null
  const [last] = await operations.lastMark(connection, { fingerprint: bounds.mark })
  return last?.key ?? null
}

/** Equal for equal name, args and tenant, whatever the order of the keys in args. */
export function fingerprint(name: string, args: Json, tenant: string | null): string {
  return createHash('sha256')
    .update(JSON.stringify([name, args, tenant]))
    .digest('hex')
}
