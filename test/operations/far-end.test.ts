import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { defineOperation, sql, type OperationDefinition } from '../../src/index.ts'
import { nextBeside } from '../../src/operations/far-end.ts'
import type { Cuts } from '../../src/operations/cuts.ts'
import type { Taken } from '../../src/operations/take.ts'
import { walkOf } from '../../src/operations/walk.ts'
import type { OperationRow } from '../../src/store/operations.ts'
import type { TestDatabase } from '../support/database.ts'
import { takeFirst } from '../support/taking.ts'
import { ungoverned } from '../support/ungoverned.ts'
import { counters, patient, working } from '../support/working.ts'

const count = defineOperation({
  name: 'count',
  table: 'counters',
  perform: ({ batch }) => batch.update(sql`n = n + 1`),
})

interface Stage extends AsyncDisposable {
  cuts: Cuts
  taken: Taken
  /** Searches beside so many sub-batches, one after the other. */
  search: (steps: number, change?: Change) => Promise<void>
  /** Searches until a step finds nothing more. How far each one reaches depends on how long the last one took. */
  searchAll: (change?: Change) => Promise<void>
}

interface Change {
  scope?: string
  front?: number
  load?: number
  pass?: number
  operation?: Partial<OperationRow>
  definition?: Pick<OperationDefinition, 'lanes' | 'reads'>
}

/** A worker that has taken the first batch. */
async function stage(db: TestDatabase): Promise<Stage> {
  const first = await takeFirst(db, count)
  const { cuts, taken } = first
  const search = async (steps: number, { scope = 'id <= 400', front = 100, ...change }: Change = {}): Promise<void> => {
    const operation = { ...taken.operation, ...change.operation }
    const governor = { ...ungoverned, load: change.load ?? 0 }
    const run = { operation, definition: { ...count, ...change.definition }, governor }
    const walk = walkOf(operation)
    for (let step = 0; step < steps; step++) {
      await cuts.farEnds.search(run, { pass: change.pass ?? 1, walk, scope: sql([scope]), end: [String(front)] })
    }
  }
  const searchAll = async (change?: Change): Promise<void> => {
    for (let known = ''; ;) {
      await search(1, change)
      const found = JSON.stringify(cuts.farEnds.of(taken.operation)?.lower ?? '')
      if (found === known) return
      known = found
    }
  }
  return { ...first, search, searchAll }
}

const elsewhere: [string, Change][] = [
  ['others are in need of the server', { load: 0.2 }],
  ['several lanes are at work', { operation: { lanes: 2 } }],
  ['lanes follow the load', { definition: { lanes: 'auto', reads: 'primary' } }],
  ['a replica is read from', { definition: { lanes: 1, reads: 'replica' } }],
  ['batches have a size of their own', { operation: { tunes_batches: false } }],
  ['the end moves', { operation: { until: 'empty' } }],
  ['keys are no whole numbers', { operation: { cursor_types: ['text'] } }],
  ['it is the second pass', { pass: 2 }],
]

describe('the search', () => {
  let shared: TestDatabase
  let quiet: Stage
  beforeAll(async () => {
    shared = await counters(1_000)
    quiet = await stage(shared)
  })
  afterAll(async () => {
    await quiet[Symbol.asyncDispose]()
    await shared[Symbol.asyncDispose]()
  })

  test('ends at the last row in scope, and has counted what lies behind it', async () => {
    await using db = await counters(1_000)
    await db.query('delete from counters where id % 10 = 0 and id > 400')
    await using at = await stage(db)
    expect(at.cuts.farEnds.of(at.taken.operation)).toBeUndefined()
    await at.search(1)
    expect(at.cuts.farEnds.of(at.taken.operation)).toMatchObject({ lower: ['997'], upper: ['999'], rows: 2 })
    await at.searchAll()
    const far = { lower: ['400'], upper: ['999'], rows: 540 }
    expect(at.cuts.farEnds.of(at.taken.operation)).toMatchObject(far)
    expect(at.cuts.farEnds.rowsOf(at.taken.operation, far)).toBe(540)
    expect(at.cuts.farEnds.rowsOf(at.taken.operation, { ...far, lower: ['401'] })).toBeUndefined()
    expect(at.cuts.farEnds.rowsOf(at.taken.operation, { ...far, upper: ['998'] })).toBeUndefined()
    // The second pass is there for what the first has not met: it looks for itself.
    expect(at.cuts.farEnds.of({ ...at.taken.operation, pass: 2 })).toBeUndefined()
  })

  test('ends where batches are, if no row is in scope behind them', async () => {
    await using db = await counters(1_000)
    await using at = await stage(db)
    await at.searchAll({ scope: 'id < 50', front: 300 })
    expect(at.cuts.farEnds.of(at.taken.operation)).toMatchObject({ lower: ['300'], upper: ['1000'], rows: 700 })
  })

  test('finds nothing where the last row is in scope, and where batches have come to the end', async () => {
    await using db = await counters(1_000)
    await using at = await stage(db)
    await at.search(3, { scope: 'id = 1000' })
    expect(at.cuts.farEnds.of(at.taken.operation)).toBeUndefined()
    await using other = await counters(1_000)
    await using done = await stage(other)
    await done.search(3, { front: 1_000 })
    expect(done.cuts.farEnds.of(done.taken.operation)).toBeUndefined()
  })

  test('keeps what it has found when it is cut off', async () => {
    await using db = await counters(1_000)
    await using at = await stage(db)
    await at.search(2)
    await at.search(1, { scope: 'n / 0 = 1' })
    const far = at.cuts.farEnds.of(at.taken.operation)
    expect(far?.upper).toEqual(['1000'])
    expect(far?.rows).toBe(1_000 - Number(far?.lower[0]))
  })

  test.each<[string, Change]>(elsewhere)('does not begin where %s', async (_, change) => {
    const { cuts, taken, search } = quiet
    await search(8, change)
    expect(cuts.farEnds.of(taken.operation)).toBeUndefined()
  })

  test('begins where none of these is so', async () => {
    const { cuts, taken, search } = quiet
    await search(8)
    expect(cuts.farEnds.of(taken.operation)).toBeDefined()
  })
})

test('a look reaches four times as far as the one before it, and takes about as long as a sub-batch', () => {
  expect(nextBeside(1_000, 2)).toBe(4_000)
  expect(nextBeside(1_000, 50)).toBe(2_000)
  expect(nextBeside(1_000, 400)).toBe(250)
})

test('a batch ends where the far end begins, and the far end is one batch', async () => {
  await using db = await counters(1_000)
  await db.query('analyze counters')
  await using at = await stage(db)
  const from = (key: string): OperationRow => ({ ...at.taken.operation, carved_to: [key] })
  expect(await at.cuts.estimate(from('300'), 200)).toEqual({ upper: ['500'], size: 200 })
  at.cuts.carved(at.taken.operation, ['300'])
  at.cuts.prepare(at.taken.operation, 200)
  await at.searchAll()
  expect(await at.cuts.estimate(from('300'), 200)).toEqual({ upper: ['400'], size: 200 })
  // Also one that was cut before the far end was known.
  expect(await at.cuts.take(from('300'), 200)).toEqual({ upper: ['400'], size: 200 })
  expect(await at.cuts.estimate(from('300'), 50)).toEqual({ upper: ['350'], size: 50 })
  expect(await at.cuts.estimate(from('400'), 50)).toEqual({ upper: ['1000'], size: 50 })
  // Who has come past it already goes on step by step.
  expect(await at.cuts.estimate(from('500'), 50)).toEqual({ upper: ['550'], size: 50 })
})

test('a batch is cut by what is known, and from then on the far end stays as it is', async () => {
  await using db = await counters(1_000)
  await db.query('analyze counters')
  await using at = await stage(db)
  await at.search(3)
  const known = at.cuts.farEnds.of(at.taken.operation)?.lower[0] ?? expect.unreachable()
  expect(Number(known)).toBeGreaterThan(400)
  const before: OperationRow = { ...at.taken.operation, carved_to: [String(Number(known) - 10)] }
  expect(await at.cuts.estimate(before, 200)).toEqual({ upper: [known], size: 200 })
  await at.search(10)
  const after = { ...at.taken.operation, carved_to: [known] }
  expect(await at.cuts.estimate(after, 1)).toEqual({ upper: ['1000'], size: 1 })
  const window = { lower: [known], upper: ['1000'] }
  expect(at.cuts.farEnds.rowsOf(at.taken.operation, window)).toBe(1_000 - Number(known))
})

test('an operation passes over its far end, and its second pass finds what came into scope there meanwhile', async () => {
  await using db = await counters(200_000)
  await db.query('analyze counters')
  let met: (() => Promise<unknown>) | undefined
  const operation = defineOperation({
    name: 'count',
    table: 'counters',
    verify: true,
    // A size that is found out gets so small on a busy machine that this takes minutes.
    subBatchSize: 2_500,
    scope: () => sql`(id <= 100000 and n = 0) or n = 7`,
    perform: async ({ batch }) => {
      // Time for the search.
      await sleep(50)
      await met?.()
      return batch.update(sql`n = n + 1`)
    },
  })
  const { sluice, events } = working(db, [operation], patient)
  await using _ = sluice
  sluice.on('batch.started', ({ batch }) => {
    if (batch === 2) met = () => db.query('update counters set n = 7 where id = 199999 and n = 0')
  })
  await sluice.start()
  await sluice.operations.start(operation)
  // Only the second pass adds what it finds: the first has not looked there again.
  expect(await events.event('operation.finished')).toMatchObject({ rowsSeen: 200_001, rowsChanged: 100_001 })
  expect(await db.value('select count(*)::int from counters where n <> (id <= 100000)::int')).toBe(1)
  expect(await db.value('select n from counters where id = 199999')).toBe(8)
})
