import { expect, test } from 'vitest'
import { defineSweep, sql, type SweepDefinition } from '../../../src/index.ts'
import { claimDue, claimOffered } from '../../../src/patterns/sweeps/claim.ts'
import type { TestDatabase } from '../../support/database.ts'
import type { EventLog } from '../../support/events.ts'
import { until } from '../../support/wait.ts'
import { byHand } from './by-hand.ts'
import { expirePastes, ownColumns, pastes, sweeping } from './pastes.ts'

/** Far more effects than any of these sweeps may have: without a bound there are hundreds in a second. */
const tooMany = 30

const trigger = (body: string): string => `
  create function meddle() returns trigger language plpgsql as $$ begin ${body} end $$;
  create trigger meddle before update on pastes for each row execute function meddle()`

/** Lets a sweep work until an event, or until it has had too many effects. */
async function untilEvent(
  db: TestDatabase,
  sweep: SweepDefinition,
  stop: (events: EventLog) => boolean,
  effects: () => number,
): Promise<EventLog> {
  const at = sweeping(db, [sweep])
  try {
    await at.sluice.start()
    await until('it ends, or goes on for ever', () => stop(at.events) || effects() > tooMany)
    return at.events
  } finally {
    await at[Symbol.asyncDispose]()
  }
}

test('a row whose claim a trigger cancels has no effect and is isolated, and the others go', async () => {
  await using db = await pastes(6)
  await db.query(trigger(`if new.short_code = 'p3' then return null; end if; return new;`))
  const seen: string[] = []
  const sweep = expirePastes({ effect: ({ row }) => void seen.push(row.short_code) })
  const events = await untilEvent(
    db,
    sweep,
    (log) => log.count('sweep.quarantined') > 0,
    () => seen.length,
  )
  expect(seen.toSorted()).toEqual(['p1', 'p2', 'p4', 'p5', 'p6'])
  expect(events.payloads('sweep.quarantined')).toMatchObject([
    { key: ['p3'], error: { name: 'ClaimNotKept', message: expect.stringContaining('a trigger or a rule') } },
  ])
})

test.each([
  ['is cancelled by a trigger', 'return null;', {}, 'a trigger or a rule'],
  [
    'makes its row not due',
    'return new;',
    { due: sql`status = 'NOT_EXPIRED' and expires_at < now()` },
    '"due" must not look at what a claim changes',
  ],
  [
    'changes the version of its row',
    `new.expires_at = old.expires_at - interval '1 second'; return new;`,
    { version: (row: { expires_at: Date }) => row.expires_at.toISOString() },
    '"version" must not look at what a claim changes',
  ],
])('a sweep of which every claim %s is held before any effect', async (_, body, more, problem) => {
  await using db = await pastes(12)
  await db.query(trigger(body))
  let effects = 0
  const sweep = expirePastes({ ...more, breaker: { for: '1h' }, effect: () => void effects++ })
  const events = await untilEvent(
    db,
    sweep,
    (log) => log.count('sweep.held') > 0,
    () => effects,
  )
  expect(effects).toBe(0)
  expect(events.payloads('sweep.held')).toMatchObject([{ reason: expect.stringContaining(problem) }])
})

test.each([
  ['by its status', { claim: ownColumns, finalise: { set: { status: sql`'NOT_EXPIRED'` } } }, 'could not'],
  [
    'by a trigger',
    { claim: ownColumns, finalise: { set: { status: 'EXPIRED' } } },
    'could not',
    `if new.status = 'EXPIRED' then new.status = 'NOT_EXPIRED'; end if; return new;`,
  ],
  ['a moment later', { claim: ownColumns, finalise: { set: { status: 'EXPIRED' } } }, 'later'],
  [
    'a moment later, with claims in our own table',
    { claim: 'table', finalise: { set: { expires_at: sql`now()` } } },
    'table',
  ],
] as const)(
  'a row that is due again %s, once it was finalized, is isolated after its attempts',
  async (_, more, how, body?: string) => {
    await using db = await pastes(1)
    if (body !== undefined) await db.query(trigger(body))
    // Others take it back as soon as it is finalized, which no look inside of that transaction can see.
    if (how === 'later')
      await db.query(`create function back() returns trigger language plpgsql as $$ begin
        update pastes set status = 'NOT_EXPIRED' where short_code = new.short_code; return null; end $$;
      create constraint trigger back after update on pastes deferrable initially deferred
        for each row when (new.status = 'EXPIRED') execute function back()`)
    const keys: string[] = []
    const sweep = expirePastes({ ...more, attempts: 2, effect: ({ idempotencyKey: key }) => void keys.push(key) })
    const events = await untilEvent(
      db,
      sweep,
      (log) => log.count('sweep.quarantined') > 0,
      () => keys.length,
    )
    expect(keys).toHaveLength(2)
    expect(new Set(keys).size).toBe(1)
    expect(events.payloads('sweep.failed').map(({ attempt }) => attempt)).toEqual([1, 2])
    expect(events.payloads('sweep.quarantined')).toMatchObject([
      { error: { message: expect.stringMatching(/^the row is due (still after|again as soon as)/) } },
    ])
    expect(await db.value('select count(*)::int from sluice.sweep_claim where quarantined_at is not null')).toBe(1)
  },
)

test('a key whose text does not lead back to its row has no effect, and no other row is taken for it', async () => {
  await using db = await pastes(0)
  // Both read as 0.3 where digits are cut off, and only the second one is that number.
  await db.query(`create table readings (at float8 primary key, old bool not null);
    insert into readings values (0.1::float8 + 0.2::float8, true), (0.3, false), (7.5, true)`)
  await db.query(
    `do $$ begin execute format('alter database %I set extra_float_digits = 0', current_database()); end $$`,
  )
  const seen: number[] = []
  const sweep = defineSweep<{ at: number; old: boolean }>({
    name: 'readings',
    table: 'readings',
    key: 'at',
    due: sql`old`,
    claim: 'table',
    interval: '100ms',
    effect: ({ row }) => void seen.push(row.at),
  })
  await untilEvent(
    db,
    sweep,
    (log) => log.count('sweep.drained') > 0,
    () => seen.length,
  )
  // Either the key was written with all its digits, or its row was left alone.
  expect(new Set(seen).size).toBe(seen.length)
  expect(await db.value('select count(*)::int from readings where at = 0.3::float8')).toBe(1)
  const swept = 2 - (await db.value<number>('select count(*)::int from readings where old'))
  expect(seen).toHaveLength(swept)
  expect(await db.value('select count(*)::int from sluice.sweep_claim where quarantined_at is null')).toBe(0)
})

test('a claim that cannot be taken over keeps its idempotency key, and has no effect', async () => {
  await using db = await pastes(1)
  const sweep = expirePastes()
  await using at = await byHand(db, sweep)
  const [first] = (await claimDue(at, 1)).rows
  await db.query(`update sluice.sweep_claim set worker_id = null`)
  await db.query(trigger('return null;'))
  expect((await claimOffered(at, { limit: 1, outage: false })).rows).toEqual([])
  expect(at.events.payloads('sweep.quarantined')).toMatchObject([{ key: ['p1'], error: { name: 'ClaimNotKept' } }])
  await db.query(`drop trigger meddle on pastes; update sluice.sweep_claim set quarantined_at = null`)
  expect((await claimOffered(at, { limit: 1, outage: false })).rows).toMatchObject([{ generation: first?.generation }])
})
