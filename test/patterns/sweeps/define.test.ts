import { expect, test } from 'vitest'
import { defineSweep, sql, type SweepSpec } from '../../../src/index.ts'
import { until } from '../../support/wait.ts'
import { expirePastes, ownColumns, pastes, sweeping, type Paste } from './pastes.ts'

type Spec = SweepSpec<Record<string, unknown>>

const good: Spec = { name: 'a', table: 't', key: 'id', due: sql`true`, claim: 'table' }
const claim = { columns: { status: 's', nonce: 'n' }, from: 'A', to: 'B' }

test.each<[string, object]>([
  ['its name must start with a letter', { name: '1' }],
  ['there is no option "efect". Did you mean "effect"?', { efect: () => undefined }],
  ['"table" must be', { table: '' }],
  ['"key" must be', { key: [] }],
  ['"order" must be', { order: 7 }],
  ['"due" must be a condition in SQL', { due: 'expires_at < now()' }],
  ['"effect" must be a function', { effect: 'delete' }],
  ['"claim" must be \'table\'', { claim: undefined }],
  [
    'there is no option "claim.columns.stauts". Did you mean "status"?',
    { claim: { ...claim, columns: { stauts: 's' } } },
  ],
  ['a column for "status" and one for "nonce"', { claim: { ...claim, columns: { status: 's' } } }],
  ['must name different columns', { claim: { ...claim, columns: { status: 's', nonce: 's' } } }],
  ['two different words', { claim: { ...claim, to: 'A' } }],
  ['"finalise" must be', { finalise: 'remove' }],
  ['"finalise.set" must name columns', { finalise: { set: {} } }],
  ['must give "s" a word of its own', { claim, finalise: { set: { n: 1 } } }],
  ['must give "s" a word of its own', { claim, finalise: { set: { s: 'A' } } }],
  ['"releases.by" must be a name', { releases: { table: 't', key: 'k', count: 'c' } }],
  ['"batch" must be a whole number', { batch: 0 }],
  ['"concurrency" must be a whole number', { concurrency: 1.5 }],
  ['"breaker.for" must be a time', { breaker: { for: 'soon' } }],
  ['"timeout" must be a time', { timeout: '2 days' }],
])('a definition is refused: %s', (problem, change) => {
  expect(() => defineSweep({ ...good, ...change })).toThrow(
    expect.objectContaining({ code: 'DEFINITION_INVALID', message: expect.stringContaining(problem) }),
  )
})

test('a worker does not start with a sweep that does not fit its tables, and touches nothing', async () => {
  await using db = await pastes(1)
  const releases = { table: 'contents', key: 'id', count: 'ref_count', by: 'content_id' } as const
  for (const [code, problem, sweep] of [
    ['TABLE_NOT_FOUND', 'Did you mean "pastes"?', expirePastes({ table: 'paste' })],
    ['CURSOR_INVALID', 'not a column', expirePastes({ key: 'code' as 'short_code' })],
    ['CURSOR_NOT_UNIQUE', 'not unique', expirePastes({ key: 'expires_at' })],
    ['SCOPE_INVALID', 'expires_ad', expirePastes({ due: sql`expires_ad < now()` })],
    [
      'SWEEP_INVALID',
      'no column "nonce"',
      expirePastes({
        claim: { from: 'NOT_EXPIRED', to: 'EXPIRED', columns: { status: 'status', nonce: 'nonce' } } as never,
      }),
    ],
    ['SWEEP_INVALID', 'Did you mean "ref_count"?', expirePastes({ releases: { ...releases, count: 'refcount' } })],
    ['SWEEP_INVALID', 'is not unique', expirePastes({ releases: { ...releases, key: 'version' } })],
    ['SWEEP_INVALID', 'no column "gone"', expirePastes({ claim: 'table', finalise: { set: { gone: true } as never } })],
  ] as const) {
    await using at = sweeping(db, [sweep])
    await expect(at.sluice.start()).rejects.toThrow(
      expect.objectContaining({ code, message: expect.stringContaining(problem) }),
    )
  }
  expect(await db.value('select count(*)::int from sluice.sweep')).toBe(0)
  expect(() => sweeping(db, [expirePastes(), expirePastes()])).toThrow('Two sweeps are named "expire-pastes"')
})

test.each<[string, string, Partial<SweepSpec<Paste>>]>([
  ['a table name inside "due"', 'without their table', { due: sql`pastes.expires_at < now()` }],
  [
    'a word that the status cannot have',
    'DELETING',
    { claim: { ...(ownColumns as object), to: 'DELETING' } as SweepSpec<Paste>['claim'] },
  ],
  [
    'a nonce column of the wrong type',
    'invalid input syntax for type integer',
    {
      claim: {
        ...(ownColumns as object),
        columns: { status: 'status', nonce: 'content_id' },
      } as SweepSpec<Paste>['claim'],
    },
  ],
  [
    'a worker column of the wrong type',
    'invalid input syntax for type timestamp',
    {
      claim: {
        ...(ownColumns as object),
        columns: { ...(ownColumns as { columns: object }).columns, worker: 'expires_at' },
      } as SweepSpec<Paste>['claim'],
    },
  ],
  ['a final word that the status cannot have', 'GONE', { finalise: { set: { status: 'GONE' } } }],
  ['a value that does not fit its column', 'soon', { finalise: { set: { status: 'EXPIRED', expires_at: 'soon' } } }],
])('a worker does not start with %s, and list says so', async (_, problem, more) => {
  await using db = await pastes(1)
  await using at = sweeping(db, [expirePastes(more)])
  await expect(at.sluice.start()).rejects.toMatchObject({
    code: 'SWEEP_INVALID',
    message: expect.stringContaining(problem),
  })
  expect(await at.sluice.sweeps.list()).toMatchObject([
    { held: { reason: expect.stringContaining(problem), until: null } },
  ])
  expect(await db.value('select count(*)::int from sluice.sweep_claim')).toBe(0)
})

test('a sweep that its database refuses later on is held with the reason, and goes on by itself', async () => {
  await using db = await pastes(3)
  await db.query(`alter table pastes add column kind text; update pastes set kind = 'x' where short_code = 'p2'`)
  const sweep = expirePastes({ due: sql`coalesce(kind::int, 0) = 0 and expires_at < now()`, breaker: { for: '200ms' } })
  await using at = sweeping(db, [sweep])
  await at.sluice.start()
  expect((await at.events.event('sweep.held')).reason).toContain('invalid input syntax for type integer: "x"')
  expect(at.events.count('connection.lost')).toBe(0)
  await db.query(`update pastes set kind = '0'`)
  await until('all are gone', async () => (await db.value<number>('select count(*)::int from pastes')) === 1)
})
