import { expect, test } from 'vitest'
import { defineSweep, sql } from '../../../src/index.ts'
import { until } from '../../support/wait.ts'
import { expirePastes, gate, pastes, sweeping } from './pastes.ts'

/** What a process looks like that was stopped: no sign of life any more, and its claims too old. */
const silence = `update sluice.worker set seen_at = seen_at - interval '1 hour';
  update sluice.sweep_claim set claimed_at = claimed_at - interval '1 hour'`

test('four workers share the rows: each has its effect once', async () => {
  await using db = await pastes(400)
  const seen: string[] = []
  const sweep = expirePastes({ batch: 10, claim: 'table', effect: ({ row }) => void seen.push(row.short_code) })
  const all = Array.from({ length: 4 }, () => sweeping(db, [sweep]))
  await Promise.all(all.map(({ sluice }) => sluice.start()))
  await until('all are gone', async () => (await db.value<number>('select count(*)::int from pastes')) === 1, 60_000)
  await Promise.all(all.map((at) => at[Symbol.asyncDispose]()))
  expect(seen).toHaveLength(400)
  expect(new Set(seen).size).toBe(400)
})

test('the claims of a silent worker are taken over with the same key, and the stale one commits nothing', async () => {
  await using db = await pastes(3)
  const releases = { table: 'contents', key: 'id', count: 'ref_count', by: 'content_id' } as const
  const finalise = { set: { status: 'EXPIRED' } }
  const [stale, keys] = [gate(), { first: [] as string[], second: [] as string[] }]
  const shape = { releases, finalise, concurrency: 3 }
  const first = expirePastes({
    ...shape,
    effect: ({ idempotencyKey }) => {
      keys.first.push(idempotencyKey)
      return stale.passed
    },
  })
  const second = expirePastes({ ...shape, effect: ({ idempotencyKey: key }) => void keys.second.push(key) })
  await using one = sweeping(db, [first])
  await one.sluice.start()
  await until('it is in the middle', () => keys.first.length === 3)
  // Its own sign of life goes on in a thread: take that for the silence of a stopped process.
  await db.query(`alter table sluice.worker disable trigger all; ${silence};
    create function hush() returns trigger language plpgsql as $$ begin
      if new.id = '${await db.value<string>('select id::text from sluice.worker')}' then return null; end if; return new; end $$;
    create trigger hush before update on sluice.worker for each row execute function hush()`)
  await using two = sweeping(db, [second])
  await two.sluice.start()
  const { count } = await two.events.event('sweep.rescued')
  expect(count).toBe(3)
  const finalised = (): number => two.events.payloads('sweep.finalised').reduce((sum, e) => sum + e.count, 0)
  await until('all are finalised', () => finalised() === 3)
  stale.open()
  const lost = (): number =>
    one.events.all.reduce((sum, e) => sum + (e.event === 'sweep.lost' ? e.payload.count : 0), 0)
  await until('all were refused', () => lost() === 3)
  expect(keys.second.toSorted()).toEqual(keys.first.toSorted())
  expect(await db.value('select ref_count from contents')).toBe(1)
})

test('a row that the application takes back in the middle stays as it is', async () => {
  await using db = await pastes(2)
  const going = gate()
  await using at = sweeping(db, [expirePastes({ effect: () => going.passed })])
  await at.sluice.start()
  await at.events.event('sweep.claimed')
  await db.query(`update pastes set status = 'NOT_EXPIRED', claim_nonce = null, expires_at = now() + interval '1 day'
    where short_code = 'p1'`)
  going.open()
  expect(await at.events.event('sweep.spared')).toMatchObject({ count: 1 })
  await until('the other is gone', async () => (await db.value<number>('select count(*)::int from pastes')) === 2)
  expect(await db.value(`select status from pastes where short_code = 'p1'`)).toBe('NOT_EXPIRED')
  expect(await db.value('select count(*)::int from sluice.sweep_claim')).toBe(0)
})

test('a row that is not due any more when it is finalised gets its status back', async () => {
  await using db = await pastes(1)
  const going = gate()
  await using at = sweeping(db, [expirePastes({ effect: () => going.passed })])
  await at.sluice.start()
  await at.events.event('sweep.claimed')
  await db.query(`update pastes set expires_at = now() + interval '1 day'`)
  going.open()
  await at.events.event('sweep.spared')
  expect(await db.query(`select status, claim_nonce from pastes where short_code = 'p1'`)).toEqual([
    { status: 'NOT_EXPIRED', claim_nonce: null },
  ])
})

test('what was made anew during a claim is spared, and goes later under its own version and key', async () => {
  await using db = await pastes(0)
  await db.query('delete from pastes; update contents set ref_count = 0')
  const going = gate()
  const seen: { version: string | undefined; key: string }[] = []
  const sweep = defineSweep<{ id: number; version: string }>({
    name: 'remove-contents',
    table: 'contents',
    key: 'id',
    due: sql`ref_count = 0`,
    claim: 'table',
    interval: '100ms',
    version: (row) => row.version,
    effect({ version, idempotencyKey: key }) {
      seen.push({ version, key })
      return going.passed
    },
  })
  await using at = sweeping(db, [sweep])
  await at.sluice.start()
  await until('it is in the middle', () => seen.length === 1)
  // Uploaded again, referred to, and free of references once more: all during the first claim.
  await db.query(`update contents set version = 'v2'`)
  going.open()
  await at.events.event('sweep.spared')
  await until('it is gone', async () => (await db.value<number>('select count(*)::int from contents')) === 0)
  expect(seen.map(({ version }) => version)).toEqual(['v1', 'v2'])
  expect(seen[0]?.key).not.toBe(seen[1]?.key)
})

test('a worker that stops gives its rows back, and what it had begun has the same key elsewhere', async () => {
  await using db = await pastes(12)
  const begun: string[] = []
  const hang = expirePastes({
    concurrency: 2,
    effect: ({ idempotencyKey, signal }) => {
      begun.push(idempotencyKey)
      return new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('stopped'))))
    },
  })
  const first = sweeping(db, [hang], { worker: { lease: '1h', poll: '100ms', stop: '50ms' } })
  await first.sluice.start()
  await until('it is in the middle', () => begun.length === 2)
  await first.sluice.stop()
  expect(await db.value('select count(*)::int from sluice.sweep_claim where worker_id is null')).toBe(12)
  const again: string[] = []
  await using second = sweeping(db, [expirePastes({ effect: ({ idempotencyKey: key }) => void again.push(key) })])
  await second.sluice.start()
  await until('all are gone', async () => (await db.value<number>('select count(*)::int from pastes')) === 1)
  expect(begun.every((key) => again.includes(key))).toBe(true)
  expect(second.events.count('sweep.rescued')).toBe(0)
})

test('outside of its hours a sweep claims nothing', async () => {
  await using db = await pastes(3)
  let open = false
  const asked: string[] = []
  const holiday = (date: string): boolean => {
    asked.push(date)
    return !open
  }
  const sweep = expirePastes({ window: { from: '00:00', to: '24:00', except: holiday } })
  await using at = sweeping(db, [sweep])
  await at.sluice.start()
  await until('it was asked twice', () => asked.length >= 2)
  expect(at.events.count('sweep.claimed')).toBe(0)
  expect((await at.sluice.sweeps.get(sweep.name)).held?.reason).toMatch(/^outside its window/)
  open = true
  await at.events.event('sweep.drained')
})

test('rows whose claim is lost are taken up again, and get their status back where they are not due', async () => {
  await using db = await pastes(12)
  const going = gate()
  {
    const hang = expirePastes({ concurrency: 12, effect: () => going.passed })
    await using first = sweeping(db, [hang], { worker: { lease: '1h', poll: '100ms', stop: '50ms' } })
    await first.sluice.start()
    await first.events.event('sweep.claimed')
    await first.sluice.stop()
  }
  going.open()
  const claimed = `select count(*)::int from pastes where status = 'DELETION_IN_PROGRESS'`
  expect(await db.value(claimed)).toBe(12)
  await db.query(`truncate sluice.sweep_claim;
    update pastes set expires_at = now() + interval '1 day' where short_code in ('p1', 'p2')`)
  const seen: string[] = []
  const sweep = expirePastes({ batch: 5, effect: ({ row }) => void seen.push(row.short_code) })
  await using second = sweeping(db, [sweep])
  await second.sluice.start()
  await until('none is in progress', async () => (await db.value<number>(claimed)) === 0)
  expect(await db.query('select short_code, status, claim_nonce from pastes order by 1')).toEqual(
    ['alive', 'p1', 'p2'].map((short_code) => ({ short_code, status: 'NOT_EXPIRED', claim_nonce: null })),
  )
  expect(seen).toHaveLength(10)
  expect(new Set(seen).size).toBe(10)
  expect(await db.value('select count(*)::int from sluice.sweep_claim')).toBe(0)
})
