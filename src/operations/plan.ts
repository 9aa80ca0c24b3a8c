import { createHash } from 'node:crypto'
import type { Sql } from 'sql-template-tag'
import type { SluiceError } from '../errors.ts'
import type { Connection, StoreConnection } from '../store/connection.ts'
import type { WalkKind } from '../store/operations.ts'
import * as operations from '../store/operations.ts'
import type { Json } from '../std/json.ts'
import type { Cursor, Walk } from '../targets/walk.ts'
import type { CheckUp, WalkChoice } from '../targets/findings.ts'
import type { Target } from '../targets/target.ts'
import type { Changes } from '../targets/changes.ts'
import { bySeverity } from './preflight/finding.ts'
import type { PlanFinding } from '../targets/findings.ts'
import type { BoundOperation, OperationDefinition } from './definition.ts'
import { firstSizes } from './size.ts'
import { meantBy } from '../targets/work.ts'

/** What the checks found out for the operation to be recorded. */
type Planned = Pick<
  operations.NewOperation,
  'table' | 'walk' | 'walkIndex' | 'cursorColumns' | 'cursorTypes' | 'lowerKey' | 'carveEnd' | 'rowsEstimate'
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
  choice: WalkChoice
  scope: Sql | undefined
  startedAt: string
}

/** Where the checks look; `reads`: the caller's transaction, for what it has just inserted. */
export interface Planner {
  target: Pick<Target, 'check'>
  control: StoreConnection
  reads?: Connection | undefined
}

/**
 * Does all the checks and writes nothing. The checks have a connection of their own, because one that fails would end
 * the user's transaction with it. What only makes it slow is a finding; whether it is refused is for the caller to say.
 */
export async function plan(
  planner: Planner,
  definition: OperationDefinition,
  request: { args: Json; bounds: Bounds },
): Promise<Prepared> {
  const prepared = await planAlong(planner, definition, { ...request, kinds: ['key', 'sparse', 'found'] })
  // What was good by the planner's estimate may not be by its plans.
  if (prepared.choice.kind === 'key' || !prepared.findings.some(({ code }) => code === 'PLAN_SCANS')) return prepared
  const byKey = await planAlong(planner, definition, { ...request, kinds: ['key'] })
  const why = `the server would read too much along ${prepared.choice.index ?? 'another index'}`
  return { ...byKey, choice: { ...byKey.choice, why } }
}

async function planAlong(
  { target: { check }, control, reads }: Planner,
  definition: OperationDefinition,
  { args, bounds, kinds }: { args: Json; bounds: Bounds; kinds: readonly WalkKind[] },
): Promise<Prepared> {
  const bound = await definition.bind(args)
  const startedAt = new Date().toISOString()
  const found = await check.resolve({
    ...definition,
    kinds,
    scope: () => bound.scope(startedAt),
    meant: () => meantBy(bound, startedAt),
  })
  const { walk, choice, scope, rowsEstimate, problems } = found
  const { table, cursor } = walk
  const max = bounds.max === undefined ? undefined : await check.key(cursor, bounds.max)
  const planned: Planned = {
    table,
    walk: choice.kind,
    walkIndex: choice.index,
    cursorColumns: cursor.columns,
    cursorTypes: cursor.types,
    lowerKey: await lowerKey({ check, control }, { definition, cursor, bounds }),
    carveEnd: max ?? (await check.last(walk, reads)),
    rowsEstimate: Math.round(rowsEstimate),
  }
  const { changes, lanes } = definition
  const range = { lower: planned.lowerKey, end: planned.carveEnd }
  const checked = await check.up({ walk, scope, changes, lanes, ...firstSizes(definition), startedAt, ...range })
  const findings = [...problems.map(findingOf), ...withoutEchoes(checked.findings, problems)]
  return { ...checked, findings, planned, bound, walk, choice, scope, startedAt }
}

/** All that was found, the gravest first, when the operation does this to its rows. */
export function findingsOn(
  { findings, around }: Pick<CheckUp, 'findings' | 'around'>,
  changes: Changes,
): PlanFinding[] {
  return bySeverity([...findings, ...around(changes)])
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
  { check, control }: { check: Target['check']; control: StoreConnection },
  { definition, cursor, bounds }: { definition: OperationDefinition; cursor: Cursor; bounds: Bounds },
): Promise<operations.Key | null> {
  if (bounds.min !== undefined) return check.key(cursor, bounds.min)
  if (definition.recur === 'restart') return null
  const [last] = await operations.lastMark(control, { fingerprint: bounds.mark })
  return last?.key ?? null
}

/** Equal for equal name, args and tenant, whatever the order of the keys in args. */
export function fingerprint(name: string, args: Json, tenant: string | null): string {
  return createHash('sha256')
    .update(JSON.stringify([name, args, tenant]))
    .digest('hex')
}
