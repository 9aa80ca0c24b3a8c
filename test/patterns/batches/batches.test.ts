import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineJob, planned } from '../../../src/index.ts'
import { drained } from '../../support/jobs.ts'
import { until } from '../../support/wait.ts'
import { callbacks, gated, member, notes, over, place, plain, type Place } from './place.ts'

const number = z.object({ n: z.number() })
const adder = defineJob({
  name: 'adder',
  args: number,
  async perform({ args, batch }) {
    if (args.n > 0) await batch?.addMany(adder, [{ n: args.n - 1 }, { n: args.n - 1 }])
  },
})
const adderInside = defineJob({
  name: 'adder-inside',
  args: number,
  transaction: true,
  async perform({ args, batch, tx }) {
    if (args.n > 0) await batch?.add(adderInside, { n: args.n - 1 })
    await tx.query('insert into ledger (note) values ($1)', [`inside ${args.n}`])
  },
})

async function scene(): Promise<Place> {
  const at = await place([adder, adderInside])
  await at.worker.sluice.start()
  return at
}

test('run enqueues members and calls back once all have succeeded', async () => {
  await using at = await scene()
  const { batches } = at.worker.sluice
  const members = Array.from({ length: 30 }, (_, n) => planned(member, { n }))
  const run = await batches.run([...members, planned(plain)], { ...callbacks(1), description: 'thirty and one' })
  expect(run.jobs).toHaveLength(31)
  expect(await over(at, run.id)).toMatchObject({
    state: 'succeeded',
    description: 'thirty and one',
    total: 31,
    succeeded: 31,
    failed: 0,
    waiting: 0,
    callbacks: [
      { kind: 'success', name: 'succeeded', jobId: expect.any(Number) },
      { kind: 'complete', name: 'completed', jobId: expect.any(Number) },
      { kind: 'death', name: 'died', jobId: null },
    ],
    failures: [],
  })
  await drained(at.db)
  expect((await notes(at)).filter((note) => !note.startsWith('member'))).toEqual(['completed 1', 'succeeded 1'])
  // In the order in which they were committed: the callbacks come last.
  const last = await at.db.query<{ note: string }>('select note from ledger order by id desc limit 2')
  expect(last.map(({ note }) => note).toSorted()).toEqual(['completed 1', 'succeeded 1'])
  expect(await at.db.value('select count(*)::int from sluice.job_batch')).toBe(0)
  expect(await at.db.value('select count(*)::int from sluice.job_batch_addition')).toBe(0)
  expect(await at.db.value('select count(*)::int from sluice.job_batch_callback')).toBe(0)
})

test('an open batch is not over before it is sealed; an empty one is over then', async () => {
  await using at = await scene()
  const { batches } = at.worker.sluice
  const [full, empty] = [await batches.open(callbacks(1)), await batches.open(callbacks(2))]
  await full.add(member, { n: 1 })
  await full.addMany(member, [{ n: 2 }, { n: 3 }])
  await drained(at.db)
  expect(await batches.get(full.id)).toMatchObject({ state: 'open', total: 3, waiting: 0, succeeded: 3 })
  expect(await batches.get(empty.id)).toMatchObject({ state: 'open', total: 0 })
  await full.seal()
  await full.seal()
  await empty.seal()
  expect(await batches.get(full.id)).toMatchObject({ state: 'succeeded', total: 3, succeeded: 3 })
  expect(await batches.get(empty.id)).toMatchObject({ state: 'succeeded', total: 0 })
  await drained(at.db)
  const called = (await notes(at)).filter((note) => !note.startsWith('member'))
  expect(called).toEqual(['completed 1', 'completed 2', 'succeeded 1', 'succeeded 2'])
  const late = { code: 'BATCH_STATE', message: expect.stringContaining('is over') }
  await expect(full.add(member, { n: 4 })).rejects.toMatchObject(late)
})

test('a sealed batch takes members from inside alone', async () => {
  await using at = await scene()
  const { batches } = at.worker.sluice
  const tree = await batches.run([planned(adder, { n: 3 }), planned(adderInside, { n: 4 })], callbacks(1))
  expect(await over(at, tree.id)).toMatchObject({ state: 'succeeded', total: 15 + 5, succeeded: 20 })
  await drained(at.db)
  expect((await notes(at)).filter((note) => !note.startsWith('inside'))).toEqual(['completed 1', 'succeeded 1'])

  await at.worker.sluice.stop()
  const { id } = await batches.run([planned(plain)])
  const refused = { code: 'BATCH_STATE', message: expect.stringContaining('is sealed') }
  await expect(batches.at(id).add(plain)).rejects.toMatchObject(refused)
  expect(await batches.get(id)).toMatchObject({ total: 1, waiting: 1 })
})

test('a dead member calls back at once, success does not come, and a retry opens the batch again', async () => {
  await using at = await scene()
  const { batches, jobs } = at.worker.sluice
  const open = await batches.open(callbacks(1))
  const { id: dying } = await open.add(gated, { n: 7 })
  await at.worker.events.event('job-batch.called')
  expect((await batches.get(open.id)).callbacks.map(({ jobId }) => jobId !== null)).toEqual([false, false, true])
  await open.add(gated, { n: 8 })
  await open.add(member, { n: 1 })
  await open.seal()
  expect(await over(at, open.id)).toMatchObject({
    state: 'failed',
    total: 3,
    succeeded: 1,
    failed: 2,
    failures: [
      { name: 'gated', state: 'dead' },
      { id: dying, name: 'gated', state: 'dead' },
    ],
  })
  await at.db.query('insert into gate values (7)')
  await jobs.retry(dying)
  expect(at.worker.events.count('job-batch.reopened')).toBe(1)
  await at.worker.events.event('job-batch.finished', { nth: 2 })
  expect(await batches.get(open.id)).toMatchObject({ state: 'failed', succeeded: 2, failed: 1 })
  await drained(at.db)
  expect(await notes(at)).toEqual(['completed 1', 'died 1', 'member 1'])
})

test('when all dead members have been retried, success is called once and complete not again', async () => {
  await using at = await scene()
  const { batches, jobs } = at.worker.sluice
  const run = await batches.run([planned(gated, { n: 1 }), planned(gated, { n: 2 })], callbacks(1))
  expect(await over(at, run.id)).toMatchObject({ state: 'failed', failed: 2 })
  await at.db.query('insert into gate values (1), (2)')
  for (const { id } of run.jobs) await jobs.retry(id)
  await until('it has succeeded', async () => (await batches.get(run.id)).state === 'succeeded')
  await drained(at.db)
  expect(await notes(at)).toEqual(['completed 1', 'died 1', 'succeeded 1'])
  expect(await batches.get(run.id)).toMatchObject({ total: 2, succeeded: 2, failed: 0 })
})

test('jobs that others discard or cancel count as failed and kill nobody', async () => {
  await using at = await scene()
  const { batches, jobs } = at.worker.sluice
  const open = await batches.open(callbacks(1))
  const [first, second] = await open.addMany(member, [{ n: 1 }, { n: 2 }], { in: '1h' })
  await jobs.discard(first?.id ?? 0)
  await open.seal()
  expect(await batches.get(open.id)).toMatchObject({ state: 'sealed', failed: 1, waiting: 1 })
  await jobs.cancel(second?.id ?? 0)
  expect(await batches.get(open.id)).toMatchObject({ state: 'failed', failed: 2 })
  await drained(at.db)
  expect(await notes(at)).toEqual(['completed 1'])
})
