import { randomUUID } from 'node:crypto'
import { errorRecord, type ErrorRecord } from '../../std/error-record.ts'
import type { Transaction } from '../../store/pool.ts'
import * as claims from '../../store/sweep-claims.ts'
import { findClaimed, lockDue, stamp, unstamp, type FoundRow, type WantedRow } from '../../targets/postgres/claim.ts'
import { idOf, type ClaimedBatch, type ClaimedRow, type Place } from './place.ts'
import { chooseOffered, withDeaths } from './suspects.ts'

type Owner = claims.ClaimOwner
type Offered = claims.OfferedRow

/** Claims due rows that nobody has claimed before. `seen`: there were some, whoever has them now. */
export async function claimDue(place: Place, limit: number): Promise<ClaimedBatch & { seen: boolean }> {
  const { definition, swept, database } = place
  const owner = newOwner(place)
  // The lock keeps the row as it is until the claim is there: its version is the one that was claimed.
  return database.work.transaction(async (tx) => {
    const due = await lockDue(tx, swept, { sweep: definition.name, limit })
    if (due.length === 0) return { owner, rows: [], seen: false }
    return { owner, rows: await claimFound(tx, place, owner, due), seen: true }
  })
}

/**
 * Makes first claims on rows that are locked, with a key of their own; gives those that nobody else has. A row whose
 * claim does not stand is among them: it is failed and isolated as any other.
 */
export async function claimFound(
  tx: Transaction,
  place: Place,
  owner: Owner,
  found: readonly FoundRow[],
): Promise<ClaimedRow[]> {
  const rows = found.map(({ key, row, findable }): ClaimedRow => ({
    key,
    row,
    generation: randomUUID(),
    ...versionOf(place, row),
    attempts: 0,
    unclaimed: findable ? undefined : notFoundAgain,
  }))
  const stored = rows.map(({ key, generation, version = null }) => ({ key, generation, version }))
  const mine = those(rows, await claims.insertClaims(tx, { ...owner, rows: stored }))
  await stamp(tx, place.swept, wanted(mine, owner.nonce), owner.workerId)
  return readBack(tx, place, owner, mine)
}

/**
 * Reads claims back from the rows that they were written to. Where one does not stand, no finaliser would find it: the
 * row would be let go after its effect and be due at once, again and again.
 */
async function readBack(
  tx: Transaction,
  place: Place,
  owner: Owner,
  rows: readonly ClaimedRow[],
): Promise<ClaimedRow[]> {
  if (place.swept.marks === undefined || rows.length === 0) return [...rows]
  const found = await findClaimed(tx, place.swept, wanted(rows, owner.nonce), 'look')
  const byKey = new Map(found.map((one) => [idOf(one.key), one]))
  return rows.map((row) => ({ ...row, unclaimed: row.unclaimed ?? problemOf(place, row, byKey.get(idOf(row.key))) }))
}

function problemOf(place: Place, row: ClaimedRow, found: FoundRow | undefined): ErrorRecord | undefined {
  if (found === undefined) {
    return lost('a claim was written to the row and does not stand there: a trigger or a rule changes or cancels it')
  }
  if (!found.due) return lost('the row is not due once it is claimed: "due" must not look at what a claim changes')
  if (row.unreadable !== undefined || versionOf(place, found.row).version === row.version) return undefined
  return lost('the version of the row changes when it is claimed: "version" must not look at what a claim changes')
}

const lost = (message: string): ErrorRecord => ({ name: 'ClaimNotKept', message })
const notFoundAgain = lost('the key of the row, written as text, does not lead back to the row: use another key')

/**
 * Claims rows that were claimed before: they wait for another attempt, or their worker has gone silent. Their
 * idempotency key and recorded version stay, unless the row has become another one since.
 */
export async function claimOffered(
  place: Place,
  { limit, outage }: { limit: number; outage: boolean },
): Promise<ClaimedBatch> {
  const { definition, database, telemetry, shift } = place
  const owner = newOwner(place)
  const { name: sweep } = definition
  const all = await claims.offeredClaims(database.control, { sweep, leaseMs: shift.leaseMs, limit })
  const { calm, poison } = chooseOffered(withDeaths(all, { outage }))
  const isolate = async ({ key, nonce }: Offered, error: ErrorRecord, died: boolean): Promise<void> => {
    const isolated = await claims.quarantineClaim(database.control, { sweep, key, nonce, error, died })
    if (isolated.length > 0) telemetry.emit('sweep.quarantined', { name: sweep, key, error })
  }
  for (const one of poison) {
    const message = `its worker died ${one.crashes} times while it held this row`
    await isolate(one, { name: 'WorkerDied', message }, true)
  }
  if (calm.length === 0) return { owner, rows: [] }
  try {
    const rows = await database.work.transaction((tx) => takeOver(tx, place, owner, calm))
    reportRescued(place, those(calm, rows))
    return { owner, rows }
  } catch (error) {
    if (!(error instanceof NotTakenOver)) throw error
    // Rolled back: their claims are as they were, with the idempotency key that a later retry needs.
    for (const { was, problem } of error.rows) await isolate(was, problem, false)
    return { owner, rows: [] }
  }
}

/** Claims that were taken over do not stand in their rows. */
class NotTakenOver extends Error {
  readonly rows: readonly { was: Offered; problem: ErrorRecord }[]

  constructor(rows: NotTakenOver['rows']) {
    super('claims that were taken over do not stand in their rows')
    this.rows = rows
  }
}

async function takeOver(
  tx: Transaction,
  place: Place,
  owner: Owner,
  offered: readonly Offered[],
): Promise<ClaimedRow[]> {
  const { swept, shift } = place
  const locked = await findClaimed(tx, swept, offered.map(keyAndNonce), 'skip')
  const due = locked.filter((found) => found.due)
  await giveUp(tx, place, offered, locked)
  const before = new Map(offered.map((one) => [idOf(one.key), one]))
  const rows = due.flatMap((found) => {
    const was = before.get(idOf(found.key))
    return was === undefined ? [] : [{ key: found.key, was, now: again(place, found, was) }]
  })
  const changes = rows.map(({ key, was, now: { generation, version = null, attempts } }) => ({
    key,
    generation,
    version,
    attempts,
    was: was.nonce,
    crashes: was.crashes,
  }))
  const mine = those(rows, await claims.takeOverClaims(tx, { ...owner, rows: changes }))
  await stamp(tx, swept, wanted(mine, owner.nonce), shift.workerId)
  const claimed = await readBack(
    tx,
    place,
    owner,
    mine.map(({ now }) => now),
  )
  const refused = claimed.flatMap(({ key, unclaimed: problem }) => {
    const was = before.get(idOf(key))
    return was === undefined || problem === undefined ? [] : [{ was, problem }]
  })
  if (refused.length > 0) throw new NotTakenOver(refused)
  return claimed
}

/** The row as it goes on: the same key and version, unless what it stands for has been made anew. */
function again(place: Place, { key, row }: FoundRow, was: Offered): ClaimedRow {
  const now = { ...versionOf(place, row), unclaimed: undefined }
  return now.unreadable !== undefined || now.version === (was.version ?? undefined)
    ? { key, row, ...now, generation: was.generation, attempts: was.attempts }
    : { key, row, ...now, generation: randomUUID(), attempts: 0 }
}

function versionOf({ definition }: Place, row: FoundRow['row']): Pick<ClaimedRow, 'version' | 'unreadable'> {
  try {
    return { version: definition.version(row), unreadable: undefined }
  } catch (error) {
    return { version: undefined, unreadable: errorRecord(error) }
  }
}

/** Ends claims on rows that are not to be swept any more: gone, undone by the application, or not due. */
async function giveUp(
  tx: Transaction,
  { definition, swept, telemetry }: Place,
  offered: readonly Offered[],
  locked: readonly FoundRow[],
): Promise<void> {
  const seen = new Set(locked.map(({ key }) => idOf(key)))
  const missing = offered.filter(({ key }) => !seen.has(idOf(key)))
  // What is there, and was not to be had, somebody has locked: it is left for the next round.
  const there = missing.length === 0 ? [] : await findClaimed(tx, swept, missing.map(keyAndNonce), 'look')
  const busy = new Set(there.map(({ key }) => idOf(key)))
  const gone = missing.filter(({ key }) => !busy.has(idOf(key)))
  const notDue = those(
    offered,
    locked.filter(({ due }) => !due),
  )
  if (gone.length + notDue.length === 0) return
  const forgotten = await claims.forgetClaims(tx, {
    sweep: definition.name,
    rows: [...gone, ...notDue].map(keyAndNonce),
  })
  await unstamp(tx, swept, those(notDue, forgotten).map(keyAndNonce))
  if (forgotten.length > 0) {
    telemetry.emit('sweep.spared', { name: definition.name, count: forgotten.length, reason: 'not due any more' })
  }
}

function reportRescued({ definition: { name }, telemetry }: Place, taken: readonly Offered[]): void {
  const silent = taken.flatMap(({ worker_id }) => worker_id ?? [])
  if (silent.length === 0) return
  telemetry.emit('sweep.rescued', { name, count: silent.length, workerIds: [...new Set(silent)] })
}

const keyAndNonce = ({ key, nonce }: Offered): WantedRow => ({ key, nonce })

/** A new nonce for claims of this process. */
export const newOwner = ({ definition, shift }: Place): Owner => ({
  sweep: definition.name,
  workerId: shift.workerId,
  nonce: randomUUID(),
})

/** Those of some rows whose keys are among others. */
export function those<Row extends { key: readonly string[] }>(
  rows: readonly Row[],
  among: readonly { key: readonly string[] }[],
): Row[] {
  const keys = new Set(among.map(({ key }) => idOf(key)))
  return rows.filter(({ key }) => keys.has(idOf(key)))
}

/** Rows to be found again by their key and the nonce of their claim. */
export const wanted = (rows: readonly { key: string[] }[], nonce: string): WantedRow[] =>
  rows.map(({ key }) => ({ key, nonce }))
