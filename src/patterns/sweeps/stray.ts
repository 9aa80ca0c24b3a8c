import { sqlstate } from '../../store/sqlstate.ts'
import { forgetClaims } from '../../store/sweep-claims.ts'
import { lockStray, unstamp } from '../../targets/postgres/claim.ts'
import { claimFound, newOwner, those, wanted } from './claim.ts'
import type { ClaimedBatch, Place } from './place.ts'

/** Most tables have no index for this, and it is seldom needed: it may cost so much, and no more. */
const patienceMs = 2_000

/**
 * Claims rows whose own columns say that they are claimed, while the claim itself is lost. What is due gets a new claim
 * and a new idempotency key, as nobody knows the old one; what is not gets its status back.
 */
export async function claimStray(place: Place, limit: number): Promise<ClaimedBatch> {
  const { definition, swept, database, telemetry } = place
  const { name } = definition
  const owner = newOwner(place)
  const { marks } = swept
  if (marks === undefined) return { owner, rows: [] }
  try {
    const { rows, found } = await database.work.transaction(
      async (tx) => {
        const stray = await lockStray(tx, { ...swept, marks }, { sweep: name, limit })
        const mine = stray.length === 0 ? [] : await claimFound(tx, place, owner, stray)
        const spared = those(
          mine,
          stray.filter(({ due }) => !due),
        )
        await unstamp(tx, swept, wanted(spared, owner.nonce))
        if (spared.length > 0) await forgetClaims(tx, { sweep: name, rows: wanted(spared, owner.nonce) })
        return { rows: mine.filter((row) => !spared.includes(row)), found: mine.length }
      },
      { statementMs: patienceMs },
    )
    if (found > 0) {
      const message = `${found} rows of ${swept.table} were in progress for the sweep "${name}", and their claims are lost: they are taken up again, with new idempotency keys`
      telemetry.emit('warning', { message })
    }
    return { owner, rows }
  } catch (error) {
    if (sqlstate(error) !== '57014') throw error
    const index = `on ${swept.table} (${definition.names.key.join(', ')}) where ${marks.status.name} = '${marks.to}'`
    const message = `Looking for rows of ${swept.table} whose claim is lost takes longer than ${patienceMs / 1_000} s, so it is left out. An index helps: create index concurrently ${index}`
    telemetry.emit('warning', { message })
    return { owner, rows: [] }
  }
}
