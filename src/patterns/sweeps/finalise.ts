import { randomUUID } from 'node:crypto'
import { backoffMs } from '../../std/backoff.ts'
import { errorRecord, type ErrorRecord } from '../../std/error-record.ts'
import { sleep } from '../../std/sleep.ts'
import type { Transaction } from '../../store/pool.ts'
import { classify } from '../../store/sqlstate.ts'
import * as claims from '../../store/sweep-claims.ts'
import { findClaimed, lockClaimable, stamp, unstamp, type FoundRow } from '../../targets/postgres/claim.ts'
import { finaliseRows, forgetUnlessDue, releaseReferences } from '../../targets/postgres/finalise.ts'
import { those, wanted } from './claim.ts'
import { idOf, type ClaimedRow, type Place } from './place.ts'

/** A row that could not be finalised, and why. */
export interface Unfinalised {
  row: ClaimedRow
  error: ErrorRecord
}

interface Finalised {
  finalised: number
  lost: number
  /** Not due any more, or made anew since the claim. */
  spared: number
  broken: Unfinalised[]
  zeroed: number
}

/** Who has the claims when the effect is had, and under which nonce they stand once their rows are finalised. */
interface Owners {
  owner: claims.ClaimOwner
  ended: claims.ClaimOwner
}

/**
 * Finalises rows whose effect was had. Gives those that the database refuses, or that came due again at once; the
 * others are done, or not ours.
 */
export async function finalise(
  place: Place,
  owner: claims.ClaimOwner,
  rows: readonly ClaimedRow[],
): Promise<Unfinalised[]> {
  const owners = { owner, ended: { ...owner, nonce: randomUUID() } }
  const { work } = place.database
  let result: Finalised
  try {
    result = await insist(place, () => work.transaction((tx) => inTransaction(tx, place, owners, rows)))
  } catch (error) {
    if (classify(error) === 'rows') return oneByOne(place, owner, rows, error)
    throw error
  }
  report(place, result)
  if (place.definition.finalising === 'delete') return result.broken
  return [...result.broken, ...(await insist(place, () => settle(place, owners, rows)))]
}

/** Does it again while the server is away or busy. */
async function insist<T>(place: Place, work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work()
    } catch (error) {
      // The claims are ours as long as nobody takes them over; a COMMIT whose answer was lost is found done.
      if (['fatal', 'rows'].includes(classify(error)) || place.shift.ending.aborted) throw error
      await sleep(backoffMs(attempt, { baseMs: 50, maxMs: 2_000 }, Math.random()), place.shift.ending)
    }
  }
}

async function oneByOne(
  place: Place,
  owner: claims.ClaimOwner,
  rows: readonly ClaimedRow[],
  error: unknown,
): Promise<Unfinalised[]> {
  const [only] = rows
  if (rows.length === 1 && only !== undefined) return [{ row: only, error: errorRecord(error) }]
  const refused: Unfinalised[] = []
  for (const row of rows) refused.push(...(await finalise(place, owner, [row])))
  return refused
}

/**
 * Ends the claims of rows that were finalised, once that is committed. A row that could be claimed again at this moment
 * was not helped: its claim is taken back, and the attempt has failed. Without that it would have its effect for ever.
 */
async function settle(
  { definition, swept, database }: Place,
  { owner, ended }: Owners,
  rows: readonly ClaimedRow[],
): Promise<Unfinalised[]> {
  const { name: sweep } = definition
  const gone = await forgetUnlessDue(database.work, swept, { sweep, wanted: wanted(rows, ended.nonce) })
  const over = new Set(gone.map(({ key }) => idOf(key)))
  const left = rows.filter(({ key }) => !over.has(idOf(key)))
  if (left.length === 0) return []
  const message = 'the row is due again as soon as it is finalised: "finalise" must change what "due" looks at'
  return database.work.transaction(async (tx) => {
    const due = those(left, await lockClaimable(tx, swept, wanted(left, ended.nonce)))
    const mine = await handOver(tx, due, { from: ended, to: owner })
    await stamp(tx, swept, wanted(mine, owner.nonce), owner.workerId)
    await claims.forgetClaims(tx, { sweep, rows: wanted(left, ended.nonce) })
    return mine.map((row) => ({ row, error: { name: 'DueAgain', message } }))
  })
}

/** Puts another nonce to claims; gives the rows where the first one still was there. */
async function handOver(
  tx: Transaction,
  rows: readonly ClaimedRow[],
  { from, to }: { from: claims.ClaimOwner; to: claims.ClaimOwner },
): Promise<ClaimedRow[]> {
  if (rows.length === 0) return []
  const changes = rows.map(({ key, generation, version = null, attempts }) => ({
    key,
    generation,
    version,
    attempts,
    crashes: 0,
    was: from.nonce,
  }))
  return those(rows, await claims.takeOverClaims(tx, { ...to, rows: changes }))
}

/** Locks go to rows first, then to their claims, then to counts: in one order everywhere, so that nobody blocks. */
async function inTransaction(
  tx: Transaction,
  place: Place,
  { owner, ended: under }: Owners,
  rows: readonly ClaimedRow[],
): Promise<Finalised> {
  const { definition, swept } = place
  const found = await findClaimed(tx, swept, wanted(rows, owner.nonce), 'wait')
  const keys = rows.map(({ key }) => key)
  const held = those(rows, await claims.holdingClaims(tx, { ...owner, keys }))
  const byKey = new Map(found.map((one) => [idOf(one.key), one]))
  const stands = held.filter(({ key, version }) => isSame(place, byKey.get(idOf(key)), version))
  const { released, broken, zeroed } = await release(tx, place, stands, byKey)
  const ended =
    released.length === 0 ? [] : await finaliseRows(tx, swept, wanted(released, owner.nonce), definition.finalising)
  checkEnded(released, ended)
  const spared = held.filter((row) => !stands.includes(row))
  await unstamp(tx, swept, wanted(spared, owner.nonce))
  // What is deleted is not due again. What is only changed may be, which shows after the commit.
  const kept = definition.finalising === 'delete' ? [] : await handOver(tx, released, { from: owner, to: under })
  const over = [...released, ...spared].filter((row) => !kept.includes(row))
  await claims.forgetClaims(tx, { sweep: owner.sweep, rows: wanted(over, owner.nonce) })
  return { finalised: released.length, lost: rows.length - held.length, spared: spared.length, broken, zeroed }
}

/** Whether the row is the one whose effect was had: still there, still due, and no new version of it. */
function isSame({ definition }: Place, found: FoundRow | undefined, version: string | undefined): boolean {
  return found !== undefined && found.due && definition.version(found.row) === version
}

/** Takes the references of rows off their counts. Rows whose count is too low are left out. */
async function release(
  tx: Transaction,
  { swept: { reference } }: Place,
  rows: readonly ClaimedRow[],
  byKey: ReadonlyMap<string, FoundRow>,
): Promise<{ released: ClaimedRow[]; broken: Unfinalised[]; zeroed: number }> {
  if (reference === undefined) return { released: [...rows], broken: [], zeroed: 0 }
  const target = ({ key }: ClaimedRow): string | null => byKey.get(idOf(key))?.refersTo ?? null
  const owed = new Map<string, number>()
  for (const row of rows) {
    const to = target(row)
    if (to !== null) owed.set(to, (owed.get(to) ?? 0) + 1)
  }
  const counts = new Map((await releaseReferences(tx, reference, owed)).map(({ key, left }) => [key, left]))
  const isReleased = (row: ClaimedRow): boolean => {
    const to = target(row)
    return to === null || counts.has(to)
  }
  const message = (row: ClaimedRow): string =>
    `${reference.table} counts fewer references to ${target(row)} than there are; "${reference.count}" would go below zero`
  return {
    released: rows.filter(isReleased),
    broken: rows
      .filter((row) => !isReleased(row))
      .map((row) => ({ row, error: { name: 'CountTooLow', message: message(row) } })),
    zeroed: [...counts.values()].filter((left) => left === 0).length,
  }
}

function checkEnded(released: readonly ClaimedRow[], ended: readonly { key: string[]; due: boolean }[]): void {
  if (ended.some(({ due }) => due)) {
    throw new Error('the row is due still after it was finalised: "finalise" must change what "due" looks at')
  }
  if (ended.length !== released.length) throw new Error('a row could not be finalised: a trigger or a rule kept it')
}

function report(place: Place, { finalised, lost, spared, zeroed }: Finalised): void {
  const { telemetry, swept, definition } = place
  const { name } = definition
  if (finalised > 0) telemetry.emit('sweep.finalised', { name, count: finalised, zeroed })
  if (lost > 0) telemetry.emit('sweep.lost', { name, count: lost })
  if (spared > 0) telemetry.emit('sweep.spared', { name, count: spared, reason: 'not due any more, or made anew' })
  if (zeroed > 0 && swept.reference !== undefined) place.onZero(swept.reference.table)
}
