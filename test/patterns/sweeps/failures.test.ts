import { expect, test } from 'vitest'
import { fresh } from '../../../src/patterns/sweeps/breaker.ts'
import { claimDue, claimOffered } from '../../../src/patterns/sweeps/claim.ts'
import { BatchRun } from '../../../src/patterns/sweeps/run.ts'
import { until } from '../../support/wait.ts'
import { byHand } from './by-hand.ts'
import { expirePastes, gate, pastes, sweeping } from './pastes.ts'

test('a row that fails again and again is isolated with its error, and the sweep goes on', async () => {
  await using db = await pastes(8)
  const keys: string[] = []
  let broken = true
  const sweep = expirePastes({
    attempts: 2,
    effect({ row, idempotencyKey }) {
      if (row.short_code !== 'p3') return
      keys.push(idempotencyKey)
      if (broken) throw new TypeError('no such bucket')
    },
  })
  await using at = sweeping(db, [sweep])
  await at.sluice.start()
  await at.events.event('sweep.quarantined')
  expect(await at.sluice.sweeps.quarantined('expire-pastes')).toEqual([
    {
      key: ['p3'],
      error: expect.objectContaining({ name: 'TypeError', message: 'no such bucket' }),
      attempts: 2,
      crashes: 0,
      at: expect.any(Date),
    },
  ])
  await until('only it is left', async () => (await db.value<number>('select count(*)::int from pastes')) === 2)
  expect(await at.sluice.sweeps.list()).toMatchObject([{ quarantined: 1, claimed: 0, waiting: 0 }])
  expect(at.events.count('sweep.failed')).toBe(2)

  broken = false
  expect(await at.sluice.sweeps.retry('expire-pastes', ['p4'])).toBe(0)
  expect(await at.sluice.sweeps.retry('expire-pastes', ['p3'])).toBe(1)
  await until('it is gone', async () => (await db.value<number>('select count(*)::int from pastes')) === 1)
  expect(keys).toHaveLength(3)
  expect(new Set(keys).size).toBe(1)
})

test('a call that hangs is left after its time, and the row is tried again with the same key', async () => {
  await using db = await pastes(1)
  const calls: { key: string; signal: AbortSignal }[] = []
  const sweep = expirePastes({
    timeout: '100ms',
    effect: ({ idempotencyKey: key, signal }) => {
      calls.push({ key, signal })
      // It does not heed its signal.
      return calls.length === 1 ? new Promise(() => undefined) : undefined
    },
  })
  await using at = sweeping(db, [sweep])
  await at.sluice.start()
  expect((await at.events.event('sweep.failed')).error).toMatchObject({ name: 'EffectTimeout' })
  await at.events.event('sweep.finalised')
  expect(calls.map(({ signal }) => signal.aborted)).toEqual([true, false])
  expect(calls[0]?.key).toBe(calls[1]?.key)
})

test('when the store is down the sweep is held for all, no attempt is spent, and it goes on by itself', async () => {
  await using db = await pastes(60)
  let down = true
  let calls = 0
  const sweep = expirePastes({
    breaker: { failures: 4, for: '400ms' },
    concurrency: 2,
    effect() {
      calls += 1
      if (down) throw new Error('connect ECONNREFUSED')
    },
  })
  await using at = sweeping(db, [sweep])
  await at.sluice.start()
  const held = await at.events.event('sweep.held')
  expect(held).toMatchObject({ name: 'expire-pastes', forMs: 400 })
  expect(held.reason).toMatch(/^4 effects in a row failed, the last with: connect ECONNREFUSED$/)
  // Those at once with the last one may still fail.
  expect(calls).toBeLessThanOrEqual(5)
  await at.events.event('sweep.held', { nth: 3 })
  // On trial one row at a time is tried.
  expect(calls).toBeLessThanOrEqual(5 + (at.events.count('sweep.held') - 1))
  expect(await db.value('select max(attempts) from sluice.sweep_claim')).toBe(0)
  expect(at.events.count('sweep.failed')).toBe(0)
  down = false
  await until('all are gone', async () => (await db.value<number>('select count(*)::int from pastes')) === 1)
  expect(at.events.count('sweep.quarantined')).toBe(0)
})

test('a hold is seen by list, and ended by run', async () => {
  await using db = await pastes(3)
  let down = true
  const sweep = expirePastes({
    breaker: { failures: 1, for: '1h' },
    // Effects that are under way fail, too, and would hold it once more.
    concurrency: 1,
    effect() {
      if (down) throw new Error('503')
    },
  })
  await using at = sweeping(db, [sweep])
  await at.sluice.start()
  await at.events.event('sweep.held')
  const [status] = await at.sluice.sweeps.list()
  expect(status?.held).toEqual({ reason: '1 effects in a row failed, the last with: 503', until: expect.any(Date) })
  down = false
  await at.sluice.sweeps.run('expire-pastes')
  await until('all are gone', async () => (await db.value<number>('select count(*)::int from pastes')) === 1)
})

test('a row that the database keeps from being finalised does not stop the others', async () => {
  await using db = await pastes(20)
  await db.query(`create table comments (paste text references pastes)`)
  await db.query(`insert into comments values ('p7')`)
  await using at = sweeping(db, [expirePastes({ attempts: 1 })])
  await at.sluice.start()
  expect(await at.events.event('sweep.quarantined')).toMatchObject({ key: ['p7'], error: { code: '23503' } })
  await until('the others are gone', async () => (await db.value<number>('select count(*)::int from pastes')) === 2)
})

test('a right that is missing holds the sweep and blames no row', async () => {
  await using db = await pastes(5)
  await db.query('revoke delete on pastes from test_worker')
  await using at = sweeping(db, [expirePastes({ breaker: { for: '200ms' } })])
  await at.sluice.start()
  expect((await at.events.event('sweep.held')).reason).toContain('permission denied')
  await db.query('grant delete on pastes to test_worker')
  await until('all are gone', async () => (await db.value<number>('select count(*)::int from pastes')) === 1)
  expect(at.events.count('sweep.failed')).toBe(0)
})

test('a version that cannot be told fails its row alone', async () => {
  await using db = await pastes(5)
  const sweep = expirePastes({
    attempts: 1,
    version({ short_code }) {
      if (short_code === 'p2') throw new Error('no ETag')
      return short_code
    },
  })
  await using at = sweeping(db, [sweep])
  await at.sluice.start()
  expect(await at.events.event('sweep.quarantined')).toMatchObject({ key: ['p2'], error: { message: 'no ETag' } })
  await until('the others are gone', async () => (await db.value<number>('select count(*)::int from pastes')) === 2)
})

test('an effect that was under way when a person ended the hold does not hold the sweep again', async () => {
  await using db = await pastes(3)
  const going = gate()
  const sweep = expirePastes({
    concurrency: 3,
    breaker: { failures: 1, for: '1h' },
    effect: () => going.passed.then(() => Promise.reject(new Error('503'))),
  })
  await using at = await byHand(db, sweep)
  const running = new BatchRun(at, await claimDue(at, 3), fresh).run()
  await using other = sweeping(db, [sweep])
  await other.sluice.sweeps.run('expire-pastes')
  going.open()
  expect(await running).toEqual({ inARow: 0, trial: true })
  expect(at.events.count('sweep.held')).toBe(0)
  expect(await db.query('select held_until from sluice.sweep')).toEqual([{ held_until: null }])
  // They are offered at once, and not after the hold that there is none.
  const offered = `select count(*)::int from sluice.sweep_claim where worker_id is null and retry_at <= clock_timestamp()`
  expect(await db.value(offered)).toBe(3)
  // What was claimed after that counts.
  await new BatchRun(at, await claimOffered(at, { limit: 3, outage: false }), fresh).run()
  expect(at.events.payloads('sweep.held')).toHaveLength(1)
})

test('what a hold has given back is offered by the run that ends it', async () => {
  await using db = await pastes(2)
  const sweep = expirePastes({ breaker: { failures: 1, for: '1h' }, effect: () => Promise.reject(new Error('503')) })
  await using at = await byHand(db, sweep)
  await new BatchRun(at, await claimDue(at, 2), fresh).run()
  const later = `select count(*)::int from sluice.sweep_claim where retry_at > clock_timestamp()`
  expect(await db.value(later)).toBe(2)
  await using other = sweeping(db, [sweep])
  await other.sluice.sweeps.run('expire-pastes')
  expect(await db.value(later)).toBe(0)
})
