// Every form of a sub-batch passes the fence: the claim must be ours, the checkpoint where the sub-batch begins, and the
// operation wanted. Races are opened by hand: a second session holds the claim while the sub-batch asks for it.
import sql from 'sql-template-tag'
import { expect, test } from 'vitest'
import { backfill, defineOperation, type OperationDefinition } from '../../src/index.ts'
import { isolateRow } from '../../src/operations/isolate.ts'
import { passOver, runSubBatch, type NextWindow } from '../../src/operations/sub-batch.ts'
import type { TestDatabase } from '../support/database.ts'
import { openClient } from '../support/jobs.ts'
import { counters } from '../support/working.ts'
import { claimFirst, progressOf, type Claimed } from './claimed.ts'
import { overOrWaiting } from '../support/locks.ts'

const shape = { name: 'finish', table: 'counters', batchSize: 100, subBatchSize: 100 } as const
const finish = backfill({ ...shape, set: { done: sql`true` }, verify: false })
let calls = 0
const callOut = defineOperation({ ...shape, effects: 'external', perform: async () => void (calls += 1) })

const next: NextWindow = { window: { lower: null, upper: ['100'] }, rows: 100 }
const firstStride: NextWindow = { ...next, stride: { of: 2, at: 0 } }

interface Form {
  definition: OperationDefinition<undefined>
  attempt: (claimed: Claimed) => Promise<unknown>
  /** What it leaves behind when nothing is in its way. */
  does: object
}

const nothing = { changed: 0, quarantined: 0, called: 0, seen: 0, transactions: 0 }
const all = { changed: 100, seen: 100, transactions: 1 }

const forms: Record<string, Form> = {
  'a sub-batch in one statement': {
    definition: finish,
    attempt: ({ work }) => runSubBatch({ ...work, inOne: true }, next),
    does: { ...nothing, ...all },
  },
  'a sub-batch in a transaction': {
    definition: finish,
    attempt: ({ work }) => runSubBatch(work, next),
    does: { ...nothing, ...all },
  },
  'a stride in one statement': {
    definition: finish,
    attempt: ({ work }) => runSubBatch({ ...work, inOne: true }, firstStride),
    does: { ...nothing, changed: 50, transactions: 1 },
  },
  'a stride in a transaction': {
    definition: finish,
    attempt: ({ work }) => runSubBatch(work, firstStride),
    does: { ...nothing, changed: 50, transactions: 1 },
  },
  'a sub-batch with external effects': {
    definition: callOut,
    attempt: ({ work }) => runSubBatch(work, next),
    does: { ...nothing, called: 1, seen: 100, transactions: 1 },
  },
  'passing over a window': {
    definition: finish,
    attempt: ({ work }) => passOver(work, next, performance.now()),
    does: { ...nothing, seen: 100, transactions: 1 },
  },
  'quarantining a row': {
    definition: finish,
    async attempt(claimed) {
      const progress = progressOf(claimed)
      const found = await isolateRow(claimed.run, claimed.work, { progress, error: new RangeError('a bad row') })
      if (found !== 'on') throw Object.assign(new Error(found), { name: found })
    },
    does: { ...nothing, quarantined: 1, seen: 1 },
  },
}

interface Threat {
  change: string
  /** Committed before the attempt, or only while the attempt waits for the claim. */
  when: 'before' | 'meanwhile'
  refusal: 'ClaimLost' | 'CheckpointMoved' | 'StopAsked'
}

const takeOver = 'update sluice.batch set nonce = gen_random_uuid()'
const move = `update sluice.batch set checkpoint = '{7}'`

const threats: Record<string, Threat> = {
  'another worker has the claim': { change: takeOver, when: 'before', refusal: 'ClaimLost' },
  'another worker gets the claim meanwhile': { change: takeOver, when: 'meanwhile', refusal: 'ClaimLost' },
  'the checkpoint is elsewhere': { change: move, when: 'before', refusal: 'CheckpointMoved' },
  'the checkpoint moves meanwhile': { change: move, when: 'meanwhile', refusal: 'CheckpointMoved' },
  'the operation is to pause': {
    change: `update sluice.operation set status = 'pausing'`,
    when: 'before',
    refusal: 'StopAsked',
  },
  'the definition is disabled': {
    change: `insert into sluice.disabled_operation (name) values ('finish')`,
    when: 'before',
    refusal: 'StopAsked',
  },
  'everything is frozen': {
    change: `insert into sluice.standstill (reason) values ('failover')`,
    when: 'before',
    refusal: 'StopAsked',
  },
}

/** A quarantine tells its caller what to do, not why. */
const told = { ClaimLost: 'over', CheckpointMoved: 'give back', StopAsked: 'give back' }

test.each(Object.entries(forms))('%s changes nothing unless it passes the fence', async (name, form) => {
  await using db = await counters(100)
  await using claimed = await claimFirst(db, form.definition)
  calls = 0
  for (const [threat, { change, when, refusal }] of Object.entries(threats)) {
    const attempt = (): Promise<unknown> => form.attempt(claimed)
    let error = await (when === 'before' ? after(db, change, attempt) : amid(db, change, attempt))
    // On a busy machine the change may commit after the attempt has given up its wait, which says nothing of the fence.
    while (isTooLate(error)) {
      expect.soft(await effects(db), threat).toEqual(nothing)
      await restore(db, claimed)
      error = await amid(db, change, attempt)
    }
    expect.soft(await effects(db), threat).toEqual(nothing)
    expect.soft(error?.name, threat).toBe(name === 'quarantining a row' ? told[refusal] : refusal)
    await restore(db, claimed)
  }
  await form.attempt(claimed)
  expect(await effects(db)).toEqual(form.does)
})

const isTooLate = (error: Error | undefined): boolean =>
  error !== undefined && 'code' in error && error.code === '55P03'

async function after(db: TestDatabase, change: string, attempt: () => Promise<unknown>): Promise<Error | undefined> {
  await db.query(change)
  return failureOf(attempt())
}

async function amid(db: TestDatabase, change: string, attempt: () => Promise<unknown>): Promise<Error | undefined> {
  await using other = await openClient(db.url)
  await other.query('begin')
  await other.query(change)
  const failure = failureOf(attempt())
  await overOrWaiting(db, failure)
  await other.query('commit')
  return failure
}

async function failureOf(attempt: Promise<unknown>): Promise<Error | undefined> {
  try {
    await attempt
    return undefined
  } catch (error) {
    return error as Error
  }
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
