// Whoever seals or cancels a batch of jobs in a transaction that stays open has its row locked, and its members wait.
import { expect, test } from 'vitest'
import { planned } from '../../../src/index.ts'
import { clean, drained, leftovers, openClient } from '../../support/jobs.ts'
import { until } from '../../support/wait.ts'
import { callbacks, over, place, plain, type Place } from './place.ts'

const warnings = ({ worker }: Place): string[] => worker.events.payloads('warning').map(({ message }) => message)

test.each([
  ['sealed', 'succeeded'],
  ['cancelled', 'cancelled'],
])('a batch that an open transaction has %s holds up its own members, and no other jobs', async (verb, state) => {
  await using at = await place()
  const { batches, jobs } = at.worker.sluice
  const sealed = await batches.open(callbacks(1))
  await sealed.addMany(plain, Array.from({ length: 5 }))
  const free = await batches.open(callbacks(2))
  await free.addMany(plain, Array.from({ length: 5 }))
  await using client = await openClient(at.db.workerUrl)
  await client.query('begin')
  if (verb === 'sealed') await sealed.seal({ tx: client })
  else await client.query(`select sluice.cancel_job_batch($1, 'enough')`, [sealed.id])

  await at.worker.sluice.start()
  await at.worker.events.event('job.started', { nth: 10 })
  const others = await jobs.enqueueMany(plain, Array.from({ length: 5 }))
  for (const { id } of others)
    await until('another job has ended', async () => (await jobs.get(id)).state === 'succeeded')
  await until('members of another batch have ended', async () => (await batches.get(free.id)).succeeded === 5)
  await free.seal()
  expect(await over(at, free.id)).toMatchObject({ state: 'succeeded', total: 5 })
  // Those who wait have ended for nobody yet, and are still in the hands of their worker.
  expect(await at.db.value('select count(*)::int from sluice.job where batch_id = $1', [sealed.id])).toBe(5)
  const wait = `jobs wait: a transaction that is open has locked their batch of jobs, ${sealed.id}.`
  await until('it says so', () => warnings(at).some((message) => message.endsWith(wait)))

  await client.query('commit')
  expect(await over(at, sealed.id)).toMatchObject({ state, total: 5, succeeded: 5 })
  await drained(at.db)
  await at.worker.sluice.stop()
  expect(at.worker.events.count('job.lost')).toBe(0)
  expect(await leftovers(at.db)).toEqual(clean)
})

test('members that end one after the other while their batch is locked are counted once each', async () => {
  await using at = await place()
  const { batches } = at.worker.sluice
  const first = await batches.run([planned(plain)], callbacks(1))
  await at.worker.sluice.start()
  await over(at, first.id)
  const open = await batches.open(callbacks(2))
  await using client = await openClient(at.db.url)
  for (let n = 0; n < 3; n++) {
    await open.addMany(plain, Array.from({ length: 4 }))
    await client.query('begin')
    await client.query('select from sluice.job_batch where id = $1 for no key update', [open.id])
    // The first batch had a member and two callbacks.
    await at.worker.events.event('job.started', { nth: 3 + 4 * (n + 1) })
    await client.query('commit')
  }
  await open.seal()
  expect(await over(at, open.id)).toMatchObject({ state: 'succeeded', total: 12, succeeded: 12 })
})
