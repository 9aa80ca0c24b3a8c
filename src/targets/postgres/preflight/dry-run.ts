import type { Connection, StoreConnection } from '../../../store/connection.ts'
import type { Pool } from '../../../store/pool.ts'
import { errorRecord } from '../../../std/error-record.ts'
import { classify } from '../../../store/sqlstate.ts'
import type { Slice } from '../../walk.ts'
import type { Recorded, Touched, PlanFinding } from '../../findings.ts'
import { checkConstraints, logPosition, readAgain, readShown, readTouched, type ShownRow } from '../rehearsal.ts'
import { openBatch } from '../batch.ts'
import type { Database } from '../../../store/database.ts'
import { readGround } from '../surroundings.ts'
import { keyAt } from '../window.ts'
import type { BoundWork } from '../../work.ts'
import type { RehearsalWanted, DryRun, Rehearsal, RehearsedRow } from '../../findings.ts'

/** What is rehearsed, in which window. */
interface Rehearsed extends Slice {
  bound: BoundWork
  startedAt: string
  relations: readonly { schema: string; name: string }[]
}

const limits = { statementMs: 5_000, lockMs: 1_000, idleInTransactionMs: 10_000 }
const longestMs = 15_000
const shownRows = 20

/** Rehearses the work on the first rows from a key on. */
export async function rehearseFrom(
  { control, work }: Pick<Database, 'control' | 'work'>,
  { from, count, ...wanted }: RehearsalWanted,
): Promise<Rehearsal> {
  const upper = (await keyAt(work, { walk: wanted.walk, window: from, count })) ?? from.upper
  const { relations } = await readGround(control, wanted.walk.table)
  return rehearse(work, { ...wanted, window: { lower: from.lower, upper }, relations })
}

/** Runs the work on one window in a transaction and rolls it back, whatever happens. */
async function rehearse(work: Pool, rehearsed: Rehearsed): Promise<Rehearsal> {
  if (rehearsed.bound.effects === 'external') {
    return { outcome: 'left out', reason: 'its effects are outside of the database and cannot be rolled back' }
  }
  try {
    return await work.transaction(
      (transaction) => runOnce(transaction, rehearsed),
      limits,
      () => false,
    )
  } catch (error) {
    if (classify(error) === 'connection') throw error
    return { outcome: 'failed', error: errorRecord(error), finding: failure(error) }
  }
}

async function runOnce(transaction: StoreConnection, rehearsed: Rehearsed): Promise<Rehearsal> {
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
  return { outcome: 'rolled back', run, statements }
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
