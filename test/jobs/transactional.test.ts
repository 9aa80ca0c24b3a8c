import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { cancel, defineJob, discardOn, snooze, type JobDefinition } from '../../src/index.ts'
import { testDatabase, type TestDatabase } from '../support/database.ts'
import { startFaultProxy } from '../support/fault-proxy/index.ts'
import { isClaimed, drained, liveJobs, startedWorker, withLedger } from '../support/jobs.ts'

const soon = { wait: 20 } as const
const note = `insert into ledger (note) values ($1)`
const notes = async (db: TestDatabase): Promise<string[]> =>
  (await db.query<{ note: string }>('select note from ledger order by id')).map((row) => row.note)

test('the changes of a handler and the end of its job commit together', async () => {
  await using db = await withLedger(await testDatabase())
  const charge = defineJob({
    name: 'charge',
    transaction: true,
    args: z.object({ cents: z.number() }),
    async perform({ tx, args, job }) {
      await tx.query(note, [`${args.cents} cents`])
      // Neither is visible to others before the commit.
      expect(await notes(db)).toEqual([])
      expect(await db.value(`select ${isClaimed} from sluice.job j where id = $1`, [job.id])).toBe(true)
    },
  })
  await using worker = await startedWorker(db, [charge])
  const { id } = await worker.jobs.enqueue(charge, { cents: 5 })
  await worker.events.event('job.finished')
  expect(await notes(db)).toEqual(['5 cents'])
  expect(await liveJobs(db)).toBe(0)
  const [change] = await db.query<{ xid: string }>('select xmin::text as xid from ledger')
  const [end] = await db.query<{ xid: string }>('select xmin::text as xid from sluice.job_history where id = $1', [id])
  expect(end?.xid).toBe(change?.xid)
})

test('a handler that throws takes its changes back, and the job is tried again', async () => {
  await using db = await withLedger(await testDatabase())
  const flaky = defineJob({
    name: 'flaky',
    transaction: true,
    retry: { attempts: 3, ...soon },
    async perform({ tx, job, enqueue }) {
      await tx.query(note, [`attempt ${job.attempt}`])
      await enqueue(plain)
      if (job.attempt < 3) throw new Error('not yet')
    },
  })
  const plain = defineJob({ name: 'plain', perform: () => undefined })
  await using worker = await startedWorker(db, [flaky, plain])
  await worker.jobs.enqueue(flaky)
  await drained(db)
  expect(await notes(db)).toEqual(['attempt 3'])
  expect(worker.events.count('job.retried')).toBe(2)
  // What the failed attempts enqueued went with them.
  expect(await db.value('select count(*)::int from sluice.job_history')).toBe(2)
})

test('a statement that fails spoils the whole attempt, even when the handler hides the error', async () => {
  await using db = await withLedger(await testDatabase())
  const hiding = defineJob({
    name: 'hiding',
    transaction: true,
    retry: false,
    async perform({ tx }) {
      await tx.query(note, ['before'])
      await tx.query('select 1 / 0', []).catch(() => undefined)
    },
  })
  await using worker = await startedWorker(db, [hiding])
  const { id } = await worker.jobs.enqueue(hiding)
  expect(await worker.jobs.wait(id, { everyMs: 20 })).toMatchObject({ state: 'dead', error: { code: '25P02' } })
  expect(await notes(db)).toEqual([])
})

describe('outcomes other than success', () => {
  test('a snooze commits the changes and the postponement together', async () => {
    await using db = await withLedger(await testDatabase())
    const stepwise = defineJob({
      name: 'stepwise',
      transaction: true,
      async perform({ tx }) {
        await tx.query(note, ['step'])
        return (await tx.query('select from ledger', [])).rows.length < 3 ? snooze(20) : undefined
      },
    })
    await using worker = await startedWorker(db, [stepwise])
    const { id } = await worker.jobs.enqueue(stepwise)
    await worker.events.event('job.finished')
    expect(await notes(db)).toEqual(['step', 'step', 'step'])
    const pairs = `select count(*)::int from sluice.job_attempt a join ledger l on l.xmin = a.xmin where a.job_id = $1`
    expect(await db.value(pairs, [id])).toBe(2)
    expect((await worker.jobs.get(id)).attempt).toBe(1)
  })

  test('a cancel by return commits the changes; a discard by rule does not', async () => {
    await using db = await withLedger(await testDatabase())
    class Gone extends Error {}
    const spec = { transaction: true, args: z.object({ how: z.string() }), onError: [discardOn(Gone)] } as const
    const ending = defineJob({
      name: 'ending',
      ...spec,
      async perform({ tx, args }) {
        await tx.query(note, [args.how])
        if (args.how === 'discard') throw new Gone()
        return cancel('enough')
      },
    })
    await using worker = await startedWorker(db, [ending])
    const [first, second] = await worker.jobs.enqueueMany(ending, [{ how: 'cancel' }, { how: 'discard' }])
    await drained(db)
    expect((await worker.jobs.get(first?.id ?? 0)).state).toBe('cancelled')
    expect((await worker.jobs.get(second?.id ?? 0)).state).toBe('discarded')
    expect(await notes(db)).toEqual(['cancel'])
  })
})

test('what is enqueued from inside joins the transaction, keyed and unique jobs too', async () => {
  await using db = await withLedger(await testDatabase())
  const seen: string[] = []
  const child = (name: string, spec: object): JobDefinition<undefined> =>
    defineJob({ name, ...spec, perform: () => void seen.push(name) })
  const children = [
    child('plain', {}),
    child('unique', { unique: {} }),
    child('keyed', { concurrency: { limit: 1, key: () => 'k' } }),
  ]
  let before: unknown
  const parent = defineJob({
    name: 'parent',
    transaction: true,
    async perform({ enqueue }) {
      for (const definition of children) await enqueue(definition)
      before = await liveJobs(db)
    },
  })
  await using worker = await startedWorker(db, [parent, ...children])
  await worker.jobs.enqueue(parent)
  await drained(db)
  expect(before).toBe(1)
  expect(seen.toSorted()).toEqual(['keyed', 'plain', 'unique'])
})

test('the answer to COMMIT may be lost: the row of the job tells that it took effect', async () => {
  await using db = await withLedger(await testDatabase())
  const upstream = new URL(db.url)
  await using proxy = await startFaultProxy({ host: upstream.hostname, port: Number(upstream.port) })
  const once = defineJob({
    name: 'once',
    transaction: true,
    args: z.object({ n: z.number() }),
    perform: async ({ tx, args }) => void (await tx.query(note, [`job ${args.n}`])),
  })
  await using worker = await startedWorker(db, [once], { url: proxy.url(db.workerUrl) })
  // Only the connections of handlers: those are the commits that carry both the changes and the end.
  const lost = proxy.dropAnswerTo(/^commit$/i, {
    times: 5,
    ending: 'rst',
    which: ({ applicationName }) => applicationName === 'sluice work',
  })
  await worker.jobs.enqueueMany(
    once,
    Array.from({ length: 20 }, (_, n) => ({ n })),
  )
  await drained(db)
  expect(lost.hits).toBe(5)
  expect((await notes(db)).toSorted()).toEqual(Array.from({ length: 20 }, (_, n) => `job ${n}`).toSorted())
  // A job is told to be finished after its row is gone.
  await worker.events.event('job.finished', { nth: 20 })
  expect(worker.events.count('job.finished')).toBe(20)
  expect(worker.events.count('job.retried')).toBe(0)
  expect(await db.value('select count(*)::int from sluice.job_attempt')).toBe(0)
})
