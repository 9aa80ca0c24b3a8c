import type { Connection } from '../../store/connection.ts'
import type { Database } from '../../store/database.ts'
import type { Look, Looked } from '../target.ts'
import type { Work } from '../work.ts'
import { readFar } from './replica-reads.ts'
import { nextWindow, windowBeyond } from './stretch.ts'
import { countInScope, countRows } from './window.ts'

/** Counts rows in scope, on a replica where that is allowed. */
export async function look(database: Database, work: Work, wanted: Look): Promise<Looked> {
  return readFar(database, work, (by) => lookBy(by, database, work, wanted))
}

async function lookBy(
  by: Connection,
  database: Database,
  work: Work,
  { rest, known, size, further }: Look,
): Promise<Looked> {
  const { walk, scope } = work
  // Where the batch has no more rows than that, nobody has to look for the end of the window.
  if (size === 'all') {
    const { rows, found } = await countInScope(by, walk, rest, scope)
    return { next: { window: rest, rows }, found }
  }
  const next = known ?? (await nextWindow(by, work, { ...rest, size }))
  const beyond =
    further === undefined ? undefined : windowBeyond(database, work, { after: next, end: rest.upper, size: further })
  const found = await countRows(by, walk, next.window, scope)
  return { next, found, ahead: await beyond }
}
