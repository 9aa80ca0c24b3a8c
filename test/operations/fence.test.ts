// Every form of a sub-batch passes the fence: the claim must be ours, the checkpoint where the sub-batch begins, and the
// operation wanted. Races are opened by hand: a second session holds the claim while the sub-batch asks for it.
import sql from 'sql-template-tag'
import { expect, test } from 'vitest'
import { backfill, defineOperation, type OperationDefinition } from '../../src/index.ts'
import { isolateRow } from '../../src/operations/isolate.ts'
import type { Next } from '../../src/operations/batch-run.ts'
import type { Target } from '../../src/targets/target.ts'
import type { Outcome } from '../../src/targets/outcome.ts'
import type { Stretch, Work } from '../../src/targets/work.ts'
import type { TestDatabase } from '../support/database.ts'
import { openClient } from '../support/jobs.ts'
import { counters } from '../support/working.ts'
import { claimFirst, begunOf, type Claimed } from './claimed.ts'
import { overOrWaiting } from '../support/locks.ts'

const shape = { name: 'finish', table: 'counters', batchSize: 100, subBatchSize: 100 } as const
const finish = backfill({ ...shape, set: { done: sql`true` }, verify: false })
let calls = 0
const callOut = defineOperation({ ...shape, effects: 'external', perform: async () => void (calls += 1) })

const next: Stretch = { window: { lower: null, upper: ['100'] }, rows: 100 }
const firstStride: Stretch = { ...next, stride: { of: 2, at: 0 } }

const commit = (target: Target, work: Work, stretch: Stretch): Promise<Outcome<object>> =>
  target.commit(work, { next: stretch, end: ['100'] })

interface Form {
  definition: OperationDefinition<undefined>
  attempt: (claimed: Claimed) => Promise<Outcome<object> | { kind: Next }>
  /** What it leaves behind when nothing is in its way. */
  does: object
}

const nothing = { changed: 0, quarantined: 0, called: 0, seen: 0, transactions: 0 }
const all = { changed: 100, seen: 100, transactions: 1 }

const forms: Record<string, Form> = {
  'a sub-batch in one statement': {
    definition: finish,
    attempt: ({ run: { target }, work }) => commit(target, { ...work, inOne: true }, next),
    does: { ...nothing, ...all },
  },
  'a sub-batch in a transaction': {
    definition: finish,
    attempt: ({ run: { target }, work }) => commit(target, work, next),
    does: { ...nothing, ...all },
  },
  'a stride in one statement': {
    definition: finish,
    attempt: ({ run: { target }, work }) => commit(target, { ...work, inOne: true }, firstStride),
    does: { ...nothing, changed: 50, transactions: 1 },
  },
  'a stride in a transaction': {
    definition: finish,
    attempt: ({ run: { target }, work }) => commit(target, work, firstStride),
    does: { ...nothing, changed: 50, transactions: 1 },
  },
  'a sub-batch with external effects': {
    definition: callOut,
    attempt: ({ run: { target }, work }) => commit(target, work, next),
    does: { ...nothing, called: 1, seen: 100, transactions: 1 },
  },
  'passing over a window': {
    definition: finish,
    attempt: ({ run: { target }, work }) => target.passOver(work, { ...next, began: performance.now() }),
    does: { ...nothing, seen: 100, transactions: 1 },
  },
  'quarantining a row': {
    definition: finish,
    async attempt(claimed) {
      return { kind: await isolateRow(claimed.run, begunOf(claimed), new RangeError('a bad row')) }
    },
    does: { ...nothing, quarantined: 1, seen: 1 },
  },
}

interface Threat {
  change: string
  /** Committed before the attempt, or only while the attempt waits for the claim. */
  when: 'before' | 'meanwhile'
  refusal: 'lost' | 'moved' | 'stop'
}

const takeOver = 'update sluice.batch set nonce = gen_random_uuid()'
const move = `update sluice.batch set checkpoint = '{7}'`

const threats: Record<string, Threat> = {
  'another worker has the claim': { change: takeOver, when: 'before', refusal: 'lost' },
  'another worker gets the claim meanwhile': { change: takeOver, when: 'meanwhile', refusal: 'lost' },
  'the checkpoint is elsewhere': { change: move, when: 'before', refusal: 'moved' },
  'the checkpoint moves meanwhile': { change: move, when: 'meanwhile', refusal: 'moved' },
  'the operation is to pause': {
    change: `update sluice.operation set status = 'pausing'`,
    when: 'before',
    refusal: 'stop',
  },
  'the definition is disabled': {
    change: `insert into sluice.disabled_operation (name) values ('finish')`,
    when: 'before',
    refusal: 'stop',
  },
  'everything is frozen': {
    change: `insert into sluice.standstill (reason) values ('failover')`,
    when: 'before',
    refusal: 'stop',
  },
}

/** A quarantine tells its caller what to do, not why. */
const told = { lost: 'over', moved: 'give back', stop: 'give back' }

test.each(Object.entries(forms))('%s changes nothing unless it passes the fence', async (name, form) => {
  await using db = await counters(100)
  await using claimed = await claimFirst(db, form.definition)
  calls = 0
  for (const [threat, { change, when, refusal }] of Object.entries(threats)) {
    const attempt = (): Attempt => form.attempt(claimed)
    let outcome = await (when === 'before' ? after(db, change, attempt) : amid(db, change, attempt))
    // On a busy machine the change may commit after the attempt has given up its wait, which says nothing of the fence.
    while (isTooLate(outcome)) {
      expect.soft(await effects(db), threat).toEqual(nothing)
      await restore(db, claimed)
      outcome = await amid(db, change, attempt)
    }
    expect.soft(await effects(db), threat).toEqual(nothing)
    expect.soft(outcome.kind, threat).toBe(name === 'quarantining a row' ? told[refusal] : refusal)
    await restore(db, claimed)
  }
  await form.attempt(claimed)
  expect(await effects(db)).toEqual(form.does)
})

type Attempt = ReturnType<Form['attempt']>

const isTooLate = (outcome: Awaited<Attempt>): boolean =>
  outcome.kind === 'failed' &&
  'code' in (outcome.error as object) &&
  (outcome.error as { code: string }).code === '55P03'

async function after(db: TestDatabase, change: string, attempt: () => Attempt): Attempt {
  await db.query(change)
  return attempt()
}

async function amid(db: TestDatabase, change: string, attempt: () => Attempt): Attempt {
  await using other = await openClient(db.url)
  await other.query('begin')
  await other.query(change)
  const outcome = attempt()
  await overOrWaiting(db, outcome)
  await other.query('commit')
  return outcome
}

async function effects(db: TestDatabase): Promise<object> {
  const [found] = await db.query<object>(
    `select (select count(*) from counters where done)::int as changed,
       (select count(*) from sluice.quarantine)::int as quarantined,
       b.rows_seen::int as seen, b.sub_batches::int as transactions
     from sluice.batch b`,
  )
  return { ...found, called: calls }
}

/** Takes a threat back, and what came of it where it was not met. */
async function restore(db: TestDatabase, { work: { claim } }: Claimed): Promise<void> {
  await db.query(`update sluice.operation set status = 'active'`)
  await db.query('update sluice.batch set nonce = $1, checkpoint = null, rows_seen = 0, sub_batches = 0', [claim.nonce])
  await db.query('delete from sluice.disabled_operation; delete from sluice.standstill; delete from sluice.quarantine')
  await db.query('update counters set done = false where done')
  calls = 0
}
