import { expect, test } from 'vitest'
import { sql, type SweepDefinition, type SweepSpec } from '../../../src/index.ts'
import { claimDue } from '../../../src/patterns/sweeps/claim.ts'
import { claimStray } from '../../../src/patterns/sweeps/stray.ts'
import { byHand } from './by-hand.ts'
import { expirePastes, ownColumns, pastes, type Paste } from './pastes.ts'

/** Two sweeps whose claims stand in the same columns, each with half of the rows. */
const half = (odd: 0 | 1): SweepDefinition =>
  expirePastes({ name: `half-${odd}`, due: sql`expires_at < now() and ascii(right(short_code, 1)) % 2 = ${odd}::int` })

test('a row that one sweep has claimed is not stray for another with the same claim columns', async () => {
  await using db = await pastes(2)
  await using one = await byHand(db, half(1))
  await using other = await byHand(db, half(0))
  const { rows } = await claimDue(one, 10)
  expect(rows).toMatchObject([{ key: ['p1'] }])
  expect((await claimStray(other, 10)).rows).toEqual([])
  expect(await db.value(`select status from pastes where short_code = 'p1'`)).toBe('DELETION_IN_PROGRESS')
  // What nobody knows any more is taken up by whoever finds it.
  await db.query('truncate sluice.sweep_claim')
  expect((await claimStray(one, 10)).rows).toMatchObject([{ key: ['p1'] }])
})

test('a row that one sweep has claimed is not claimed by another that begins where the first one is at work', async () => {
  await using db = await pastes(1)
  const claim = { ...(ownColumns as object), from: 'DELETION_IN_PROGRESS', to: 'EXPIRED' } as SweepSpec<Paste>['claim']
  await using one = await byHand(db, expirePastes())
  await using next = await byHand(db, expirePastes({ name: 'next', claim }))
  expect((await claimDue(one, 1)).rows).toHaveLength(1)
  expect((await claimDue(next, 1)).rows).toEqual([])
  await db.query('truncate sluice.sweep_claim')
  expect((await claimDue(next, 1)).rows).toHaveLength(1)
})
