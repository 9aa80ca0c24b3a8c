import type { Sql } from 'sql-template-tag'
import type { Prospect, SampledWindow } from '../../findings.ts'
import type { Connection } from '../../../store/connection.ts'
import type { Pool } from '../../../store/pool.ts'
import { sqlstate } from '../../../store/sqlstate.ts'
import { sliceOf } from '../change.ts'
import { expectedRows } from '../explain.ts'
import { keyBeforeEnd, keysAlong, tableBytes } from '../sample.ts'
import { sameKey, type KeyWindow, type Walk } from '../../walk.ts'
import { countRows, keyAt, onWalk } from '../window.ts'

/** So many windows are looked at, for so long altogether and for so long each. */
const mostWindows = 10
const budgetMs = 5_000
const limits = { statementMs: 2_000, lockMs: 200 }
/** More rows tell no more. */
const largestWindow = 1_000

interface Place {
  walk: Walk
  scope: Sql | undefined
  range: KeyWindow
  size: number
}

/** Looks at windows along the whole walk: where old rows are deleted, its beginning is the last place to judge by. */
export async function lookAhead(checks: Pool, given: Place): Promise<Prospect> {
  const { walk, scope, range } = given
  const place = { ...given, size: Math.min(given.size, largestWindow) }
  const see = await expectedRows(checks, walk.table, onWalk(walk, range))
  const expected =
    scope === undefined ? see : await expectedRows(checks, walk.table, sliceOf({ walk, window: range, scope }))
  const bytes = await withinLimits(() => checks.transaction((tx) => tableBytes(tx, walk.table), limits))
  return { ...(await sampleWindows(checks, place)), see, expected, tableBytes: bytes ?? 0 }
}

async function sampleWindows(checks: Pool, place: Place): Promise<Pick<Prospect, 'windows' | 'complete'>> {
  const began = performance.now()
  const windows: SampledWindow[] = []
  const places = await placesToLook(checks, place)
  let complete = true
  for (const [at, lower] of places.entries()) {
    // No row is looked at twice.
    const range = { lower, upper: places[at + 1] ?? place.range.upper }
    const late = performance.now() - began > budgetMs
    const window = late
      ? undefined
      : await withinLimits(() => checks.transaction((tx) => sampleAt(tx, place, range), limits))
    if (window === undefined) return { windows, complete: false }
    complete &&= sameKey(window.upper, range.upper)
    if (window.rows > 0) windows.push(window)
  }
  return { windows, complete }
}

/** Without statistics: the beginning and the end. */
async function placesToLook(checks: Pool, { walk, range, size }: Place): Promise<KeyWindow['lower'][]> {
  const small = await withinLimits(() =>
    checks.transaction((tx) => keyAt(tx, { walk, window: range, count: size }), limits),
  )
  if (small === null) return [range.lower]
  const along = { walk, range, count: mostWindows }
  const keys = (await withinLimits(() => checks.transaction((tx) => keysAlong(tx, along), limits))) ?? []
  if (keys.length > 1) return [range.lower, ...keys.slice(1)]
  const last = await withinLimits(() =>
    checks.transaction((tx) => keyBeforeEnd(tx, { walk, range, count: size }), limits),
  )
  return last === undefined || last === null ? [range.lower] : [range.lower, last]
}

async function sampleAt(
  connection: Connection,
  { walk, scope, size }: Place,
  { lower, upper: end }: KeyWindow,
): Promise<SampledWindow> {
  const began = performance.now()
  const upper = (await keyAt(connection, { walk, window: { lower, upper: end }, count: size })) ?? end
  const window = { lower, upper }
  const rows = await countRows(connection, walk, window)
  const matched = scope === undefined ? rows : await countRows(connection, walk, window, scope)
  return { ...window, rows, matched, elapsedMs: performance.now() - began }
}

/** A look that takes too long, or waits for a lock, is left out. */
async function withinLimits<T>(look: () => Promise<T>): Promise<T | undefined> {
  try {
    return await look()
  } catch (error) {
    const state = sqlstate(error)
    if (state === '57014' || state === '55P03') return undefined
    throw error
  }
}
