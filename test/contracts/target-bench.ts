// What the contract of targets works on: a bench for each target, and work on its batch.
import sql from 'sql-template-tag'
import type { Claim } from '../../src/store/batches.ts'
import type { Key } from '../../src/store/operations.ts'
import { unknownChanges } from '../../src/targets/changes.ts'
import type { Changed, Outcome } from '../../src/targets/outcome.ts'
import type { Target } from '../../src/targets/target.ts'
import type { KeyWindow, Walk } from '../../src/targets/walk.ts'
import type { BoundWork, Stretch, Work } from '../../src/targets/work.ts'

/** What stands in the way of a commit. */
export type Threat = 'taken over' | 'moved' | 'paused' | 'cancelled' | 'disabled' | 'frozen'

/** What has become of the rows and the batch. */
export interface Peek {
  /** Rows whose `n` is not 0, and the largest `n`. */
  changed: number
  times: number
  checkpoint: Key | null
  rowsSeen: number
  rowsMatched: number
  rowsChanged: number
  subBatches: number
  quarantined: number
}

/** A database with a table `walked (id, n)`: ids from 1 on, every `n` is 0; and a claim on a batch over all of it. */
export interface TargetBench extends AsyncDisposable {
  target: Target
  claim: Claim
  operationId: string
  peek(): Promise<Peek>
  threaten(threat: Threat): Promise<void>
  /** The operation may run at these hours only, from now on. */
  setHours(hours: string): Promise<void>
  /** Loses the answer to the next commit, of this form. */
  loseAnswer(form: Form): Promise<void>
}

/** A target, and what it is able to do. */
export interface TargetUnderTest {
  /** A batch over a table of this many rows. */
  open(rows: number): Promise<TargetBench>
  /** Tables of other forms: with these columns as primary key, and these keys. */
  table(columns: readonly string[], keys: readonly Key[]): Promise<{ target: Target; table: string } & AsyncDisposable>
  /** Errors that this target gives, one of each class. */
  errors: Record<'connection' | 'retry' | 'locked' | 'hold' | 'rows' | 'fatal', unknown>
}

export interface TargetCan {
  oneStatement: boolean
  strides: boolean
}

export type Form = 'in one statement' | 'in a transaction' | 'outside'

const addOne = sql`n = n + 1`

export const stretch = (rows: number): Stretch => ({ window: { lower: null, upper: [String(rows)] }, rows })

export async function commit(bench: TargetBench, work: Work, given: Stretch): Promise<Outcome<Changed>> {
  return bench.target.commit(work, { next: given, end: ['100'] })
}

export async function walkOf({ target, table }: { target: Target; table: string }): Promise<Walk> {
  const wanted = {
    table,
    cursor: undefined,
    kinds: ['key'],
    changes: unknownChanges,
    scope: () => undefined,
    meant: () => undefined,
  } as const
  return (await target.check.resolve(wanted)).walk
}

export async function next(target: Target, walk: Walk, wanted: KeyWindow & { size: number }): Promise<Stretch> {
  const work = { walk, strides: { of: 1, rowsPerPage: 0 } } as unknown as Work
  return target.windows.next(work, { ...wanted, plain: true })
}

interface Choice {
  scope?: BoundScope
  isOpen?: Work['isOpen']
  /** What is set; by default, `n` counts up. */
  change?: ReturnType<typeof sql>
  /** Whether work outside must not be called, or fails. */
  calls?: 'refused' | 'fails'
  pass?: number
}

type BoundScope = () => ReturnType<typeof sql> | undefined

function boundFor(
  form: Form,
  { scope = () => undefined, change = addOne, calls }: Choice,
): BoundWork & { scope: BoundScope } {
  const perform: BoundWork['perform'] = async ({ batch }) => batch.update(change)
  const performExternal: BoundWork['performExternal'] = async ({ rows }) => {
    if (calls !== undefined) throw new RangeError(`a call that is ${calls}`)
    return rows.length
  }
  const bound = { perform, performExternal, scope, effects: form === 'outside' ? 'external' : 'database' } as const
  return form === 'in one statement' ? { ...bound, change: { kind: 'update', set: change } } : bound
}

export async function factsOf(bench: TargetBench, form: Form, choice: Choice): Promise<Parameters<Target['enter']>[0]> {
  return {
    operationId: bench.operationId,
    walk: await walkOf({ ...bench, table: 'walked' }),
    window: { lower: null, upper: ['100'] },
    pass: choice.pass ?? 1,
    crashes: 0,
    startedAt: new Date().toISOString(),
    bound: boundFor(form, choice),
    changes: unknownChanges,
    kind: 'key',
    lanes: 1,
    reads: 'primary',
    strode: false,
  }
}

export async function workOf(bench: TargetBench, form: Form, choice: Choice = {}): Promise<Work> {
  const facts = await factsOf(bench, form, choice)
  const entered = await bench.target.enter(facts)
  return {
    ...facts,
    ...entered,
    claim: bench.claim,
    isOpen: choice.isOpen ?? (() => true),
    leaseMs: 60_000,
    signal: new AbortController().signal,
    inOne: form === 'in one statement' && entered.mayBeOne,
    leavesNone: false,
  }
}
