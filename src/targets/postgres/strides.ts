/**
 * Strides: how columns of rows on full pages are set without rewriting every index.
 *
 * The model. A new version of a row that finds room on the page of the old one needs no entry in any index. On a full
 * page there is none. So a window is done by several transactions, each of which changes one row in so many of each page:
 * the first few rows go elsewhere, and what they leave behind is cleaned up by whoever reads the page next, which makes
 * room for the following ones.
 *
 * The invariants. Each transaction passes the fence and writes its counters. The checkpoint moves with the last one only,
 * which takes all rows of the window that are left, wherever they went meanwhile. What a row has to become tells whether
 * it is done, so nothing else must be remembered; where it does not, which is tried on a row of each batch, there are no
 * strides.
 *
 * On a crash or an error the window is begun anew from its checkpoint, without strides: rows that are right are passed
 * over, and a bad one is found by halving as ever.
 *
 * Decisions.
 * - A row belongs to a stride by its number on its page: `get_byte(tidsend(ctid), 5) % 10`. This is cheap and needs no
 *   knowledge of keys, which may have gaps.
 * - No position inside a window is stored: a row that already has its new value is done.
 * - Each batch decides again whether strides help, because an old snapshot, which makes them useless, comes and goes.
 */
import type { Sql } from 'sql-template-tag'
import type { Connection } from '../../store/connection.ts'
import type { Database } from '../../store/database.ts'
import type { Changes } from '../changes.ts'
import type { BatchFacts } from '../target.ts'
import type { Walk } from '../walk.ts'
import type { Stretch, Stride, Strides, Work } from '../work.ts'
import { isLast, pagesOf, readPages, settles, type Pages } from './stride.ts'
import { readSurroundings, type Surroundings } from './surroundings.ts'

/** In how many transactions a window is done, and why so. */
export interface StrideChoice {
  /** 1: in one. */
  of: number
  why: string
}

/**
 * More make the first transaction smaller, whose rows go elsewhere, and have pages read more often. In a bare loop 10 took
 * least of the server's time (11 µs a row, 20 took 15, one UPDATE 13 to 18); with a worker around it, that is not settled.
 */
const most = 10
/** With fewer rows on a page there is little to gain. */
const fewestRows = 4
/** Below that the rows of a window lie on too many pages. */
const leastCorrelation = 0.9
/** A page that is filled no more than that has room for all. */
const halfFull = 0.52

/** What is known of a change before it is made. */
export interface StrideFacts {
  changes: Pick<Changes, 'kind' | 'columns' | 'stride'>
  lanes: number | 'auto'
  indexes: Surroundings['indexes']
  pages: Pages
  /** Rows have been done so before: an analyze then finds them out of order, and says nothing of those ahead. */
  begun?: boolean
}

const no = (why: string): StrideChoice => ({ of: 1, why })

/** Chooses by what is known. */
export function chooseStride({ changes, lanes, indexes, pages, begun = false }: StrideFacts): StrideChoice {
  const { stride = 1 } = changes
  if (changes.kind !== 'update' || stride === 1) return no('it was not asked for')
  if (stride !== 'auto') return { of: stride, why: 'the definition says so' }
  const hit = indexes.find(
    ({ summarizing, columns }) => !summarizing && columns.some((column) => changes.columns?.includes(column)),
  )
  if (hit !== undefined) return no(`the index ${hit.name} has a column that changes`)
  if (indexes.length === 0) return no('there is no index that could be spared')
  if (lanes !== 1) return no('several lanes keep each other from cleaning pages up')
  if (!pages.plain) return no('the table has no pages of its own')
  if (pages.rowsPerPage === 0) return no('there are no statistics of the table')
  if (pages.rowsPerPage < fewestRows) return no('there are few rows on a page')
  if (pages.filled <= halfFull) return no('pages have room for all new versions')
  if (!begun && Math.abs(pages.correlation) < leastCorrelation) return no('rows do not lie in the order of their keys')
  if (pages.heldBy !== null) return no(`an old snapshot keeps pages from being cleaned up: ${pages.heldBy}`)
  return { of: Math.min(most, Math.floor(pages.rowsPerPage)), why: 'pages are full, and no index has to change' }
}

export const noStrides: Strides = { of: 1, rowsPerPage: 0 }

/** The choice for one batch: what holds now. Whoever died on these rows is followed without strides. */
export async function strideOf(
  database: Database,
  batch: BatchFacts & { walk: Walk },
  scope: Sql | undefined,
): Promise<Strides> {
  const { bound, changes, walk, window, lanes } = batch
  const [column] = walk.cursor.columns
  if (changes.kind !== 'update' || (changes.stride ?? 1) === 1 || batch.pass > 1 || batch.crashes > 0) return noStrides
  if (column === undefined || walk.only !== undefined) return noStrides
  const [pages, { indexes }] = await Promise.all([
    readPages(database.control, walk.table, column),
    readSurroundings(database.control, walk.table),
  ])
  const { of } = chooseStride({ changes, lanes, indexes, pages, begun: batch.strode })
  if (of === 1 || bound.change?.kind !== 'update') return noStrides
  const settled = await settles(database.work, { walk, window, scope }, bound.change.set)
  return settled ? { of, rowsPerPage: pages.rowsPerPage } : noStrides
}

/** Where rows are in the order of their keys, they lie on no more pages than so many times as few as possible. */
const loosely = 2

/** The first of the transactions in which a window is done; undefined: there is but one. */
export async function firstStride(
  by: Connection,
  { walk, strides }: Pick<Work, 'walk' | 'strides'>,
  { window, rows }: Stretch,
): Promise<Stride | undefined> {
  const { of, rowsPerPage } = strides
  if (of === 1) return undefined
  const enough = rowsPerPage > 0 ? (rows / rowsPerPage) * loosely + 2 : 0
  return { of, at: 0, pages: await pagesOf(by, { walk, window }, enough) }
}

/** Rows that one transaction changes. */
export function rowsAtOnce({ rows, stride }: Pick<Stretch, 'rows' | 'stride'>): number {
  return stride === undefined ? rows : Math.ceil(rows / stride.of)
}

/** What is next in the same stretch, after one transaction that met so many rows; undefined: nothing. */
export function nextStride<S extends Pick<Stretch, 'rows' | 'stride'>>(done: S, rowsMatched: number): S | undefined {
  const { stride } = done
  if (stride === undefined || isLast(stride)) return undefined
  // Few rows in scope need no room: what is left is done at once.
  const few = rowsMatched * 4 < rowsAtOnce(done)
  return { ...done, stride: { ...stride, at: few ? stride.of - 1 : stride.at + 1 } }
}
