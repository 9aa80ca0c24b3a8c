import { expect, test } from 'vitest'
import { defineSweep, sql } from '../../../src/index.ts'
import { until } from '../../support/wait.ts'
import { expirePastes, gate, ownColumns, pastes, sweeping, type Paste } from './pastes.ts'

const left = 'select count(*)::int from pastes'

test.each([
  ['in columns of the row', ownColumns],
  ['in our own table', 'table' as const],
])('with claims %s, each due row has its effect and is deleted, and others stay', async (_, claim) => {
  await using db = await pastes(250)
  const seen: Paste[] = []
  const sweep = expirePastes({ claim, batch: 40, effect: ({ row }) => void seen.push(row) })
  await using at = sweeping(db, [sweep])
  await at.sluice.start()
  await at.events.event('sweep.drained')
  expect(seen.map(({ short_code }) => short_code).toSorted()).toEqual(
    Array.from({ length: 250 }, (_none, i) => `p${i + 1}`).toSorted(),
  )
  expect(seen[0]).toMatchObject({ status: 'NOT_EXPIRED', expires_at: expect.any(Date) })
  expect(await db.query('select short_code, status from pastes')).toEqual([
    { short_code: 'alive', status: 'NOT_EXPIRED' },
  ])
  expect(await db.value('select count(*)::int from sluice.sweep_claim')).toBe(0)
})

test('while an effect runs, the row says who has it, and nothing is locked', async () => {
  await using db = await pastes(1)
  const going = gate()
  await using at = sweeping(db, [expirePastes({ effect: () => going.passed })])
  await at.sluice.start()
  await at.events.event('sweep.claimed')
  const [row] = await db.query<Paste>(`select * from pastes where short_code = 'p1' for update nowait`)
  expect(row).toMatchObject({ status: 'DELETION_IN_PROGRESS', claimed_at: expect.any(Date) })
  expect(await db.query('select worker_id, nonce from sluice.sweep_claim')).toEqual([
    { worker_id: row?.claimed_by, nonce: row?.claim_nonce },
  ])
  going.open()
  await at.events.event('sweep.finalised')
  expect(await db.value(left)).toBe(1)
})

test('a row can be marked instead of deleted, also by an expression', async () => {
  await using db = await pastes(3)
  const finalise = { set: { status: 'EXPIRED', expires_at: sql`'infinity'::timestamptz` } }
  await using at = sweeping(db, [expirePastes({ finalise })])
  await at.sluice.start()
  await at.events.event('sweep.drained')
  expect(
    await db.query(`select distinct status, expires_at::text, claim_nonce, claimed_by, claimed_at from pastes
    where short_code <> 'alive'`),
  ).toEqual([{ status: 'EXPIRED', expires_at: 'infinity', claim_nonce: null, claimed_by: null, claimed_at: null }])
})

test('a mark that leaves the row due is refused, and the row isolated', async () => {
  await using db = await pastes(1)
  const sweep = expirePastes({ claim: 'table', attempts: 1, finalise: { set: { content_id: null } } })
  await using at = sweeping(db, [sweep])
  await at.sluice.start()
  const { error } = await at.events.event('sweep.quarantined')
  expect(error.message).toContain('due still')
  expect(await db.value(`select content_id from pastes where short_code = 'p1'`)).toBe(1)
})

test('a reference is released in the transaction that finalises its row', async () => {
  await using db = await pastes(30)
  const removed: unknown[] = []
  const releases = { table: 'contents', key: 'id', count: 'ref_count', by: 'content_id' } as const
  const contents = defineSweep<{ id: number; ref_count: number }>({
    name: 'remove-contents',
    table: 'contents',
    key: 'id',
    due: sql`ref_count = 0`,
    claim: 'table',
    effect: ({ row }) => void removed.push(row.id),
  })
  await using at = sweeping(db, [expirePastes({ releases, batch: 7 }), contents])
  await at.sluice.start()
  await at.events.event('sweep.drained')
  expect(await db.query('select id, ref_count from contents')).toEqual([{ id: 1, ref_count: 1 }])
  expect(removed).toEqual([])
  await db.query(`update pastes set expires_at = now() - interval '1 second'`)
  // The other sweep is woken by the one that brings the count to zero; its own interval is a minute.
  await until('the content is gone', async () => (await db.value<number>('select count(*)::int from contents')) === 0)
  expect(removed).toEqual([1])
})

test('a count that would go below zero stays, and its rows are isolated', async () => {
  await using db = await pastes(3)
  await db.query('update contents set ref_count = 2')
  const releases = { table: 'contents', key: 'id', count: 'ref_count', by: 'content_id' } as const
  await using at = sweeping(db, [expirePastes({ releases, batch: 1, attempts: 1 })])
  await at.sluice.start()
  const { key, error } = await at.events.event('sweep.quarantined')
  expect({ key, name: error.name }).toEqual({ key: ['p3'], name: 'CountTooLow' })
  expect(await db.value('select ref_count from contents')).toBe(0)
  expect(await db.value(left)).toBe(2)
})

test('run wakes a sweep in another process, and list and get show where it stands', async () => {
  await using db = await pastes(1)
  const sweep = expirePastes({ interval: '1 day' })
  await using at = sweeping(db, [sweep])
  await using other = sweeping(db, [sweep])
  await at.sluice.start()
  await at.events.event('sweep.drained')
  await db.query(`update pastes set expires_at = now() - interval '1 second'`)
  expect(await other.sluice.sweeps.get('expire-pastes')).toEqual({
    name: 'expire-pastes',
    table: 'pastes',
    claimed: 0,
    waiting: 0,
    quarantined: 0,
    held: null,
    due: 1,
  })
  await other.sluice.sweeps.run('expire-pastes')
  await at.events.event('sweep.finalised', { nth: 2 })
  expect(await other.sluice.sweeps.list()).toMatchObject([{ name: 'expire-pastes', claimed: 0 }])
  await expect(other.sluice.sweeps.run('expire-paste')).rejects.toThrow('Did you mean "expire-pastes"?')
})
