import { expect, test } from 'vitest'
import { planned } from '../../../src/index.ts'
import { member, place, plain } from './place.ts'

test('what cannot be a batch of jobs is refused before anything is written', async () => {
  await using at = await place()
  const { batches } = at.worker.sluice
  const refusals: [options: object, complaint: string][] = [
    [{ onSucess: planned(plain) }, 'Did you mean "onSuccess"?'],
    [{ description: 'x'.repeat(1_001) }, '"description"'],
    [{ description: '\0' }, '"description"'],
    [{ onSuccess: plain }, 'must be made by planned'],
    [{ parent: { id: 0 } }, '"parent"'],
  ]
  for (const [options, complaint] of refusals) {
    const refused = { code: 'BATCH_INVALID', message: expect.stringContaining(complaint) }
    await expect(batches.open(options)).rejects.toMatchObject(refused)
  }
  const wrong = planned(member, { n: 'one' } as never)
  await expect(batches.open({ onDeath: wrong })).rejects.toMatchObject({ code: 'ARGS_INVALID' })
  await expect(batches.run([planned(plain), wrong])).rejects.toMatchObject({ code: 'ARGS_INVALID' })
  await expect(batches.get(-1)).rejects.toMatchObject({ code: 'BATCH_NOT_FOUND' })
  await expect(batches.open({ parent: { id: 12_345 } })).rejects.toMatchObject({ code: 'BATCH_NOT_FOUND' })
  expect(await at.db.value('select count(*)::int from sluice.job_batch')).toBe(0)
  expect(await at.db.value('select count(*)::int from sluice.job')).toBe(0)
})

test.each([
  ['{"job": "a", "batch": 7}', '"batch" must be an object'],
  ['{"job": "a", "batch": {"id": "x"}}', '"batch" must be an object'],
  ['{"job": "a", "batch": {}}', '"batch" must be an object'],
  ['{"job": "a", "batch": {"id": 1, "members": 2}}', 'there is no field "batch.members"'],
  ['{"job": "a", "batch": {"id": 999}}', 'there is no batch of jobs 999'],
])('sluice.enqueue refuses %s', async (job, complaint) => {
  await using at = await place()
  await expect(at.db.query('select * from sluice.enqueue($1)', [job])).rejects.toThrow(complaint)
})

test('a unique job that is there already is no member, and one refused member takes no other job along', async () => {
  await using at = await place()
  const { sluice, jobs } = at.worker
  const { batches } = sluice
  const once = { job: 'once', unique: { key: 'k' } }
  await at.db.query('select * from sluice.enqueue($1)', [JSON.stringify(once)])
  const open = await batches.open()
  const rows = await at.db.query('select duplicate from sluice.enqueue($1)', [
    JSON.stringify([
      { ...once, batch: { id: open.id } },
      { job: 'other', batch: { id: open.id } },
    ]),
  ])
  expect(rows).toEqual([{ duplicate: true }, { duplicate: false }])
  expect(await batches.get(open.id)).toMatchObject({ total: 1 })
  await open.seal()
  const [refused, taken] = await Promise.allSettled([open.add(plain), jobs.enqueue(plain)])
  expect([refused.status, taken.status]).toEqual(['rejected', 'fulfilled'])
})

test.each([
  ['[]', 'it must be a JSON object'],
  ['{"description": 7}', '"description" must be a text'],
  ['{"parent": 7}', '"parent" must be an object'],
  ['{"parent": {"id": "x"}}', '"parent" must be an object'],
  ['{"onSucess": {"job": "a"}}', 'there is no field "onSucess"'],
  ['{"onSuccess": "a"}', '"onSuccess": each job must be a JSON object'],
  ['{"onComplete": {"job": "a b"}}', '"onComplete": "job" must be the name of a job'],
  ['{"onDeath": {"job": "a", "delayMs": -1}}', '"onDeath": "delayMs" must be a number'],
  ['{"onDeath": {"job": "a", "batch": {"id": 1}}}', 'a callback cannot join a batch'],
  ['{"onDeath": {"job": "a", "unique": {"key": "k"}}}', 'a callback cannot be unique'],
])('sluice.open_job_batch refuses %s, and writes nothing', async (spec, complaint) => {
  await using at = await place()
  const opening = at.db.query('select sluice.open_job_batch($1)', [spec])
  await expect(opening).rejects.toMatchObject({ code: '22023', message: expect.stringContaining(complaint) })
  expect(await at.db.value('select count(*)::int from sluice.job_batch')).toBe(0)
})
