/**
 * The far end of an operation: its rows after the last row in scope. When old rows are deleted in key order, the tail
 * of the table holds nothing to delete but must still be scanned. A single lane leaves most of an idle server unused,
 * so this scan runs beside its sub-batches, from the last key backward.
 *
 * Decision: the result is kept in memory only and is no more than an early look. The batch that covers the far end is
 * claimed, fenced and counted like any other; it passes these rows in one step, and the second pass looks again.
 */
import type { Sql } from 'sql-template-tag'
import { Recent } from '../std/recent.ts'
import type { Target } from '../targets/target.ts'
import type { Key, OperationRow } from '../store/operations.ts'
import { isBelow, isWhole, numberOf } from '../targets/bounds.ts'
import { sameKey, type KeyWindow, type Walk } from '../targets/walk.ts'
import type { OperationDefinition } from './definition.ts'
import { lookGrowth } from './batch-sizes.ts'

/** Keys without a row in scope between them, up to the end of the operation. */
interface FarEnd {
  lower: Key
  upper: Key
  rows: number
}

interface Search extends FarEnd {
  /** Keys of the next look. */
  reach: number
  state: 'free' | 'looking' | 'over'
}

/** Who looks. */
interface Searcher {
  operation: OperationRow
  definition: Pick<OperationDefinition, 'lanes' | 'reads'>
  governor: { readonly load: number }
}

/** What its batch walks, and where that ends. */
interface Searched {
  pass: number
  walk: Walk
  scope: Sql | undefined
  end: Key
}

/** The first look is at so small a part of the keys. */
const firstPart = 1 / 500
/** A look that takes longer is given up, and with it the search. */
const limitMs = 1_000
/** Who shares the server with others keeps to one thing at a time. */
const idleLoad = 0.1

export class FarEnds {
  readonly #target: Pick<Target, 'windows'>
  readonly #searches = new Recent<Search>()

  constructor(target: Pick<Target, 'windows'>) {
    this.#target = target
  }

  /** The far end of an operation in its first pass, as far as it is known. */
  of({ id, pass }: Pick<OperationRow, 'id' | 'pass'>): FarEnd | undefined {
    const search = this.#searches.get(id)
    return pass === 1 && search !== undefined && search.rows > 0 ? search : undefined
  }

  /** A batch ends where the far end begins: it must not begin elsewhere any more. */
  settle({ id }: Pick<OperationRow, 'id'>): void {
    const search = this.#searches.get(id)
    if (search !== undefined) search.state = 'over'
  }

  /** The rows of a window, if that is the far end. */
  rowsOf(operation: Pick<OperationRow, 'id' | 'pass'>, { lower, upper }: KeyWindow): number | undefined {
    const far = this.of(operation)
    return far !== undefined && sameKey(far.lower, lower) && sameKey(far.upper, upper) ? far.rows : undefined
  }

  /** Looks one step further, beside a sub-batch. Never throws, and need not be waited for. */
  async search(run: Searcher, work: Searched): Promise<void> {
    const search = pays(run, work) ? this.#searchOf(run.operation, work) : undefined
    if (search?.state !== 'free') return
    search.state = 'looking'
    // It can be done without: the rows are looked at in their turn, and then errors count.
    const state = await this.#step(search, work).catch(() => 'over' as const)
    if (isLooking(search)) search.state = state
  }

  #searchOf({ id, carve_end: end }: OperationRow, { end: front }: Searched): Search | undefined {
    if (end === null) return undefined
    const known = this.#searches.get(id)
    if (known !== undefined) return known
    const reach = Math.ceil(Number(numberOf(end) - numberOf(front)) * firstPart)
    const search: Search = { lower: end, upper: end, rows: 0, reach, state: reach > 0 ? 'free' : 'over' }
    this.#searches.set(id, search)
    return search
  }

  async #step(search: Search, { walk, scope, end: front }: Searched): Promise<Search['state']> {
    const began = performance.now()
    const upper = search.lower
    if (scope === undefined || !isBelow(front, upper)) return 'over'
    const wanted = [String(numberOf(upper) - BigInt(search.reach))]
    const lower = isBelow(front, wanted) ? wanted : front
    const { rows, last } = await this.#target.windows.tail({ walk, window: { lower, upper }, scope, limitMs })
    if (!isLooking(search)) return 'over'
    search.rows += rows
    search.lower = last ?? lower
    search.reach = nextBeside(search.reach, performance.now() - began)
    return last === null && lower !== front ? 'free' : 'over'
  }
}

/** Whether it was not settled meanwhile. */
const isLooking = ({ state }: Search): boolean => state === 'looking'

/** Only where the next cut is put to use without asking the database, and where nobody else is in need of the server. */
function pays({ operation, definition, governor }: Searcher, { pass, walk, scope }: Searched): boolean {
  const { lanes, until, tunes_batches: tuned } = operation
  if (pass > 1 || scope === undefined || !tuned || until === 'empty' || !isWhole(walk)) return false
  return lanes === 1 && definition.lanes === 1 && definition.reads !== 'replica' && governor.load < idleLoad
}

/** How long a look beside a sub-batch is to take: about as long as one of an idle server. */
const besideMs = 100

/** How far the next look beside a sub-batch reaches, after one that took this long. */
export function nextBeside(reach: number, ms: number): number {
  return Math.ceil(Math.min((reach / Math.max(ms, 1)) * besideMs, reach * lookGrowth))
}
