import type { Connection, StoreConnection } from '../../store/connection.ts'
import type { Pool } from '../../store/pool.ts'
import { errorRecord, type ErrorRecord } from '../../std/error-record.ts'
import { classify } from '../../store/sqlstate.ts'
import type { Slice } from '../../targets/change.ts'
import type { Recorded } from '../../targets/explain.ts'
import {
  checkConstraints,
  logPosition,
  readAgain,
  readShown,
  readTouched,
  type ShownRow,
  type Touched,
} from '../../targets/rehearsal.ts'
import { openBatch } from '../batch.ts'
import type { BoundOperation } from '../definition.ts'
import type { PlanFinding } from './finding.ts'

/** A row of the dry run: what became of it. */
interface RehearsedRow {
  key: readonly string[]
  outcome: 'deleted' | 'changed' | 'unchanged'
  /** The columns that changed, or the whole row when it was deleted. */
  before: Record<string, string | null>
  after: Record<string, string | null> | null
}

/** One sub-batch that was really run, and rolled back. */
export interface DryRun {
  rowsMatched: number
  rowsChanged: number
  elapsedMs: number
  /** Bytes of log that were written meanwhile; others write, too. */
  walBytes: number
  /** Of the walked table. */
  updated: number
  hot: number
  deleted: number
  /** What was done to other tables, by the work, a trigger or a cascade. */
  others: Touched[]
  /** The first rows, before and after. */
  rows: RehearsedRow[]
}

/** How a dry run went. */
export type Rehearsal =
  | { outcome: 'rolled back'; run: DryRun; statements: Recorded[] }
  | { outcome: 'left out'; reason: string }
  | { outcome: 'failed'; error: ErrorRecord; finding: PlanFinding }

/** What is rehearsed, in which window. */
export interface Rehearsed extends Slice {
  bound: BoundOperation
  startedAt: string
  relations: readonly { schema: string; name: string }[]
}

const limits = { statementMs: 5_000, lockMs: 1_000, idleInTransactionMs: 10_000 }
const longestMs = 15_000
const shownRows = 20

/** Carries the result out of a transaction that must not commit. */
class RolledBack extends Error {
  override readonly name = 'RolledBack'
  readonly run: DryRun
  readonly statements: Recorded[]

  constructor(run: DryRun, statements: Recorded[]) {
    super('the dry run was rolled back')
    this.run = run
    this.statements = statements
  }
}

/** Runs the work on one window in a transaction and rolls it back, whatever happens. */
export async function rehearse(work: Pool, rehearsed: Rehearsed): Promise<Rehearsal> {
  if (rehearsed.bound.effects === 'external') {
    return { outcome: 'left out', reason: 'its effects are outside of the database and cannot be rolled back' }
  }
  try {
    return await work.transaction((transaction) => runAndThrow(transaction, rehearsed), limits)
  } catch (error) {
    if (error instanceof RolledBack) return { outcome: 'rolled back', run: error.run, statements: error.statements }
    if (classify(error) === 'connection') throw error
    return { outcome: 'failed', error: errorRecord(error), finding: failure(error) }
  }
}

async function runAndThrow(transaction: StoreConnection, rehearsed: Rehearsed): Promise<never> {
  const before = await readShown(transaction, rehearsed, shownRows)
  const [touchedBefore, logBefore] = [await readTouched(transaction), await logPosition(transaction)]
  const began = performance.now()
  const { recorder, statements } = recording(transaction)
  const signal = AbortSignal.timeout(longestMs)
  const { batch, tally } = openBatch(recorder, rehearsed, signal)
  const returned = await orTooLate(rehearsed.bound.perform({ batch, startedAt: rehearsed.startedAt }), signal)
  const { matched, changed } = await tally()
  await checkConstraints(transaction)
  const elapsedMs = performance.now() - began
  const logAfter = await logPosition(transaction)
  const touched = subtract(await readTouched(transaction), touchedBefore)
  const after = await readAgain(
    transaction,
    rehearsed.walk,
    before.map(({ key }) => key),
  )
  const isOwn = ({ schema, name }: Touched): boolean =>
    rehearsed.relations.some((own) => own.schema === schema && own.name === name)
  const sum = (of: 'updated' | 'hot' | 'deleted'): number =>
    touched.filter(isOwn).reduce((total, table) => total + table[of], 0)
  const run: DryRun = {
    rowsMatched: matched,
    rowsChanged: typeof returned === 'number' ? returned : changed,
    elapsedMs: Math.round(elapsedMs * 10) / 10,
    walBytes: logAfter === null || logBefore === null ? 0 : logAfter - logBefore,
    updated: sum('updated'),
    hot: sum('hot'),
    deleted: sum('deleted'),
    others: touched.filter((table) => !isOwn(table)),
    rows: compare(before, after),
  }
  throw new RolledBack(run, statements)
}

/** A connection that keeps the statements that run through it. */
function recording(connection: Connection): { recorder: Connection; statements: Recorded[] } {
  const statements: Recorded[] = []
  const recorder: Connection = {
    query: async (text, values) => {
      if (statements.length < 20) statements.push({ text, values })
      return connection.query(text, values)
    },
  }
  return { recorder, statements }
}

async function orTooLate<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const late = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(new Error(`the work did not end within ${longestMs / 1_000} s`)))
  })
  return Promise.race([work, late])
}

function subtract(now: readonly Touched[], before: readonly Touched[]): Touched[] {
  return now
    .map((table) => {
      const was = before.find(({ schema, name }) => schema === table.schema && name === table.name)
      return {
        ...table,
        inserted: table.inserted - (was?.inserted ?? 0),
        updated: table.updated - (was?.updated ?? 0),
        hot: table.hot - (was?.hot ?? 0),
        deleted: table.deleted - (was?.deleted ?? 0),
        scanned: table.scanned - (was?.scanned ?? 0),
      }
    })
    .filter(({ inserted, updated, deleted, scanned }) => inserted + updated + deleted + scanned > 0)
}

function compare(before: readonly ShownRow[], after: readonly ShownRow[]): RehearsedRow[] {
  const now = new Map(after.map(({ key, values }) => [JSON.stringify(key), values]))
  return before.map(({ key, values }) => {
    const then = now.get(JSON.stringify(key))
    if (then === undefined) return { key, outcome: 'deleted', before: values, after: null }
    const columns = Object.keys(values).filter((column) => values[column] !== then[column])
    const only = (from: Record<string, string | null>) =>
      Object.fromEntries(columns.map((column) => [column, from[column] ?? null]))
    return { key, outcome: columns.length === 0 ? 'unchanged' : 'changed', before: only(values), after: only(then) }
  })
}

/** An error that no repetition cures would end the operation at its first sub-batch. */
function failure(error: unknown): PlanFinding {
  const kind = classify(error)
  const { message } = errorRecord(error)
  const base = { check: 'dry run', what: `The dry run failed: ${message.replace(/\.$/, '')}` } as const
  if (kind === 'fatal') {
    return {
      ...base,
      severity: 'refuse',
      why: 'The operation would fail with its first sub-batch',
      remedy: 'Correct the definition, or give the role what it needs',
    }
  }
  return {
    ...base,
    severity: 'warn',
    why:
      kind === 'retry'
        ? 'Others hold locks on these rows, or one sub-batch takes longer than it may'
        : 'Sub-batches are halved until the rows at fault are alone, and these are isolated',
    remedy:
      kind === 'retry'
        ? 'Ask again when they are done, or make the sub-batch smaller'
        : 'Look at the rows, or at the work',
  }
}
