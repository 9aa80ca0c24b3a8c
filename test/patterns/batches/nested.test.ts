import { expect, test } from 'vitest'
import { planned } from '../../../src/index.ts'
import { drained } from '../../support/jobs.ts'
import { callbacks, gated, member, notes, over, place, plain } from './place.ts'

test('a batch inside of another is one member of it', async () => {
  await using at = await place()
  const { batches } = at.worker.sluice
  const outer = await batches.open(callbacks(1))
  const inner = await batches.open({ ...callbacks(2), parent: outer })
  await inner.addMany(member, [{ n: 1 }, { n: 2 }])
  await batches.run([planned(plain)], { parent: outer })
  await outer.add(plain)
  await outer.seal()
  await at.worker.sluice.start()
  await drained(at.db)
  expect(await batches.get(outer.id)).toMatchObject({ state: 'sealed', total: 3, waiting: 1, succeeded: 2 })
  await inner.seal()
  expect(await over(at, outer.id)).toMatchObject({ state: 'succeeded', total: 3, succeeded: 3 })
  expect(await batches.get(inner.id)).toMatchObject({ state: 'succeeded', total: 2, parentId: outer.id })
  await drained(at.db)
  expect(await notes(at)).toEqual(['completed 1', 'completed 2', 'member 1', 'member 2', 'succeeded 1', 'succeeded 2'])

  const refused = { code: 'BATCH_INVALID', message: expect.stringContaining('nest one level deep') }
  const deep = await batches.open({ parent: await batches.open() })
  await expect(batches.open({ parent: deep })).rejects.toMatchObject(refused)
})

test('a death inside is one outside, and a retry brings both back', async () => {
  await using at = await place()
  const { batches, jobs } = at.worker.sluice
  const outer = await batches.open(callbacks(1))
  const inner = await batches.run([planned(gated, { n: 1 }), planned(plain)], { ...callbacks(2), parent: outer })
  await outer.seal()
  await at.worker.sluice.start()
  expect(await over(at, outer.id)).toMatchObject({ state: 'failed', total: 1, failed: 1 })
  await at.db.query('insert into gate values (1)')
  await jobs.retry(inner.jobs[0]?.id ?? 0)
  await at.worker.events.event('job-batch.finished', { nth: 4 })
  expect(await batches.get(outer.id)).toMatchObject({ state: 'succeeded', total: 1, succeeded: 1, failed: 0 })
  expect(await batches.get(inner.id)).toMatchObject({ state: 'succeeded', total: 2, succeeded: 2, failed: 0 })
  await drained(at.db)
  expect(await notes(at)).toEqual(['completed 1', 'completed 2', 'died 1', 'died 2', 'succeeded 1', 'succeeded 2'])
})
