import { storeArgs } from '../../args.ts'
import type { Target } from '../../targets/target.ts'
import type { Key } from '../../store/operations.ts'
import type { OperationDefinition } from '../definition.ts'
import { findingsOn, fingerprint, plan, type Bounds, type Prepared } from '../plan.ts'
import type { Starter, StartOptions } from '../start.ts'
import type { Changes } from '../../targets/changes.ts'
import type { DryRun, Rehearsal, PlanFinding, Prospect, PlannedStatement, WalkChoice } from '../../targets/findings.ts'
import { estimate, type Estimate } from './estimate.ts'
import { findInDryRun } from './evidence.ts'
import { bySeverity, refusals } from './finding.ts'
import { lanesFrom } from '../lanes.ts'
import { viewOfWalk, type WalkView } from '../walk.ts'
import { firstSizes } from '../size.ts'

/** What a plan is asked for. */
export interface OperationPlanOptions extends Pick<StartOptions, 'tenant' | 'min' | 'max'> {
  /** Whether one sub-batch is run and rolled back. Default: true. */
  dryRun?: boolean
}

/** What a start would do. */
export interface OperationPlan {
  name: string
  table: string
  /** The index along which it would go, and why. */
  walk: WalkView & Pick<WalkChoice, 'why'>
  cursor: readonly string[]
  /** Keys between which the walk goes; the first one is not included. */
  from: Key | null
  to: Key | null
  scope: string | null
  estimate: Estimate
  /** How the statements that run again and again find their rows. */
  statements: readonly PlannedStatement[]
  /** The gravest first. */
  findings: readonly PlanFinding[]
  /** A start would be refused, unless it is forced. */
  refused: boolean
  dryRun: { outcome: 'rolled back' | 'left out' | 'failed'; reason: string | null; run: DryRun | null }
}

/** Does all that a start does, but for recording the operation, and looks further ahead. */
export async function planOperation(
  definition: OperationDefinition,
  request: { args: unknown; bounds: Omit<Bounds, 'mark'>; tenant: string | null; dryRun: boolean },
  { target, database: { control } }: Pick<Starter, 'target' | 'database'>,
): Promise<OperationPlan> {
  const args = storeArgs(definition.name, request.args)
  const bounds = { ...request.bounds, mark: fingerprint(definition.name, args, request.tenant) }
  const prepared = await plan({ target, control }, definition, { args, bounds })
  const { planned, walk, choice, scope } = prepared
  const prospect = await prospectOf(prepared, definition, target)
  const rehearsal = request.dryRun
    ? await rehearsalOf(prepared, { prospect, count: firstSizes(definition).subBatchSize }, target)
    : ({ outcome: 'left out', reason: 'it was not asked for' } as const)
  const run = rehearsal.outcome === 'rolled back' ? rehearsal.run : undefined
  const known = run === undefined ? definition.changes : whatItDid(definition.changes, run)
  const findings = withEvidence(findingsOn(prepared, known), evidenceOf(rehearsal))
  return {
    name: definition.name,
    table: planned.table,
    walk: { ...viewOfWalk({ ...choice, columns: walk.cursor.columns }), why: choice.why },
    cursor: walk.cursor.columns,
    from: planned.lowerKey,
    to: planned.carveEnd,
    scope: scope?.text ?? null,
    estimate: estimate(prospect, { ...firstSizes(definition), lanes: lanesFrom(definition.lanes).lanes }, run),
    statements: await statementsOf(prepared, rehearsal, target),
    findings,
    refused: refusals(findings).length > 0,
    dryRun: { outcome: rehearsal.outcome, reason: reasonOf(rehearsal), run: run ?? null },
  }
}

async function prospectOf(
  { planned, walk, scope }: Prepared,
  definition: OperationDefinition,
  { check }: Target,
): Promise<Prospect> {
  const { lowerKey: lower, carveEnd: upper } = planned
  if (upper === null) return { windows: [], complete: true, see: 0, expected: 0, tableBytes: 0 }
  return check.ahead({ walk, scope, range: { lower, upper }, size: firstSizes(definition).subBatchSize })
}

/** From the place with the most rows in scope on: there the work has most to do. */
async function rehearsalOf(
  prepared: Prepared,
  { prospect, count }: { prospect: Prospect; count: number },
  { check }: Target,
): Promise<Rehearsal> {
  const { walk, scope, bound, startedAt, planned } = prepared
  const [place] = prospect.windows.toSorted((a, b) => b.matched - a.matched)
  if (place === undefined || place.matched === 0) {
    return { outcome: 'left out', reason: 'there is no row in scope where it looked' }
  }
  const from = { lower: place.lower, upper: planned.carveEnd ?? place.upper }
  return check.rehearse({ walk, scope, from, count, bound, startedAt })
}

/** What the dry run has shown of work that nothing was known about. */
function whatItDid(changes: Changes, { deleted, updated, rows }: DryRun): Changes {
  if (changes.kind !== 'unknown') return changes
  if (deleted > 0) return { kind: 'delete' }
  if (updated === 0) return changes
  return { kind: 'update', columns: [...new Set(rows.flatMap(({ before }) => Object.keys(before)))] }
}

/** What was seen goes before what was only feared. */
function withEvidence(findings: readonly PlanFinding[], evidence: readonly PlanFinding[]): PlanFinding[] {
  const seen = evidence.map(({ check }) => check)
  const left = findings.filter(({ check, severity }) => severity !== 'note' || !seen.includes(check))
  const hopeless = left.some(({ check }) => check === 'HOT')
  return bySeverity([...left, ...evidence.filter(({ check }) => check !== 'HOT' || !hopeless)])
}

function evidenceOf(rehearsal: Rehearsal): PlanFinding[] {
  if (rehearsal.outcome === 'rolled back') return findInDryRun(rehearsal.run)
  return rehearsal.outcome === 'failed' ? [rehearsal.finding] : []
}

/** Of work that is not a preset's, the statements that it really runs. */
async function statementsOf(
  { statements }: Prepared,
  rehearsal: Rehearsal,
  { check }: Target,
): Promise<PlannedStatement[]> {
  if (rehearsal.outcome !== 'rolled back' || rehearsal.statements.length === 0) return statements
  const seen = new Map(rehearsal.statements.map((statement) => [statement.text, statement]))
  const real: PlannedStatement[] = []
  for (const recorded of [...seen.values()].slice(0, 5)) {
    const planned = await check.plan(recorded)
    if (planned !== undefined) real.push(planned)
  }
  return real.length === 0 ? statements : [...statements.filter(({ statement }) => statement !== 'work'), ...real]
}

function reasonOf(rehearsal: Rehearsal): string | null {
  if (rehearsal.outcome === 'left out') return rehearsal.reason
  return rehearsal.outcome === 'failed' ? rehearsal.error.message : null
}
