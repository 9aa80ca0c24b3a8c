import { expect, test } from 'vitest'
import { defineJob, planned, Sluice } from '../../../src/index.ts'
import { drained, openClient } from '../../support/jobs.ts'
import { isWaiting } from '../../support/locks.ts'
import { until } from '../../support/wait.ts'
import { callbacks, keyed, member, notes, over, place, plain } from './place.ts'

test('a batch that was opened in a transaction is there when, and only when, that commits', async () => {
  await using at = await place()
  const { batches } = at.worker.sluice
  await using client = await openClient(at.db.workerUrl)
  await client.query('begin')
  const lost = await batches.run([planned(plain)], { ...callbacks(1), tx: client })
  await client.query('rollback')
  await expect(batches.get(lost.id)).rejects.toMatchObject({ code: 'BATCH_NOT_FOUND' })
  await expect(batches.at(lost.id).add(plain)).rejects.toMatchObject({ code: 'BATCH_NOT_FOUND' })

  await client.query('begin isolation level repeatable read')
  const kept = await batches.open({ ...callbacks(2), tx: client })
  await kept.add(member, { n: 1 })
  await kept.seal()
  await client.query('commit')
  await at.worker.sluice.start()
  expect(await over(at, kept.id)).toMatchObject({ state: 'succeeded', total: 1 })
  await drained(at.db)
  expect(await notes(at)).toEqual(['completed 2', 'member 1', 'succeeded 2'])
})

test('an old snapshot cannot seal what others have opened', async () => {
  await using at = await place()
  const { batches } = at.worker.sluice
  const open = await batches.open(callbacks(1))
  await using client = await openClient(at.db.workerUrl)
  await client.query('begin isolation level repeatable read')
  await client.query('select')
  await open.add(plain)
  await expect(open.seal({ tx: client })).rejects.toMatchObject({ code: 'ISOLATION_TOO_STRICT' })
  await client.query('rollback')
  expect(await batches.get(open.id)).toMatchObject({ state: 'open', total: 1 })
})

test('an old snapshot does not count in a batch that others have opened', async () => {
  await using at = await place()
  const { batches } = at.worker.sluice
  const outer = await batches.open(callbacks(1))
  await using client = await openClient(at.db.workerUrl)
  await client.query('begin isolation level repeatable read')
  const run = batches.run([], { parent: outer, tx: client })
  await expect(run).rejects.toMatchObject({ code: 'ISOLATION_TOO_STRICT' })
  await client.query('rollback')
  await batches.run([], { parent: outer })
  await outer.seal()
  expect(await batches.get(outer.id)).toMatchObject({ state: 'succeeded', total: 1 })
})

test('an open transaction that adds keeps no member from ending, and the seal waits for it', async () => {
  await using at = await place()
  const { batches } = at.worker.sluice
  const open = await batches.open(callbacks(1))
  await open.addMany(plain, [undefined, undefined])
  await using client = await openClient(at.db.workerUrl)
  await client.query('begin')
  await open.add(plain, undefined, { tx: client })
  await at.worker.sluice.start()
  await until('both have ended', async () => (await batches.get(open.id)).succeeded === 2)
  const sealing = open.seal()
  await until('the seal waits', () => isWaiting(at.db))
  await client.query('commit')
  await sealing
  expect(await over(at, open.id)).toMatchObject({ state: 'succeeded', total: 3, succeeded: 3 })
})

test('a member that adds and ends while somebody seals gets through', async () => {
  const said = new EventTarget()
  const heard = (name: string): Promise<unknown> => new Promise((resolve) => said.addEventListener(name, resolve))
  const [added, released] = [heard('added'), heard('released')]
  const adds = defineJob({
    name: 'adds',
    transaction: true,
    async perform({ batch }) {
      await batch?.add(plain)
      said.dispatchEvent(new Event('added'))
      await released
    },
  })
  await using at = await place([adds])
  const { batches } = at.worker.sluice
  const open = await batches.open(callbacks(1))
  await open.add(adds)
  await at.worker.sluice.start()
  await added
  const sealing = open.seal()
  await until('the seal waits', () => isWaiting(at.db))
  said.dispatchEvent(new Event('released'))
  await sealing
  expect(await over(at, open.id)).toMatchObject({ state: 'succeeded', total: 2, succeeded: 2 })
  expect(await at.db.value('select deadlocks::int from pg_stat_database where datname = current_database()')).toBe(0)
})

test('members of many batches with keys end at once in several workers, without a deadlock', async () => {
  await using at = await place()
  const { batches } = at.worker.sluice
  const ids: number[] = []
  for (let n = 0; n < 12; n++) {
    const outer = await batches.open(callbacks(n))
    ids.push(outer.id)
    await batches.run([planned(plain), planned(keyed, { n })], { parent: outer })
    await outer.addMany(
      plain,
      Array.from({ length: 10 }, () => undefined),
    )
    await outer.addMany(
      keyed,
      Array.from({ length: 5 }, (_, i) => ({ n: i })),
    )
    await outer.seal()
  }
  const others = [1, 2].map(
    () => new Sluice({ database: at.db.workerUrl, jobs: [plain, keyed], worker: { jobs: { concurrency: 10 } } }),
  )
  try {
    await Promise.all([at.worker.sluice.start(), ...others.map((other) => other.start())])
    for (const id of ids) expect(await over(at, id)).toMatchObject({ state: 'succeeded', total: 16 })
    await drained(at.db)
    expect(await notes(at)).toHaveLength(24)
    expect(await at.db.value('select deadlocks::int from pg_stat_database where datname = current_database()')).toBe(0)
  } finally {
    await Promise.all(others.map((other) => other.stop()))
  }
})
