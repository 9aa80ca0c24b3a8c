import { expect, test } from 'vitest'
import { defineJob } from '../../src/index.ts'
import { onConnection } from '../../src/store/connection.ts'
import { admit } from '../../src/store/jobs/enqueue.ts'
import { asConnection, testDatabase } from '../support/database.ts'
import { startFaultProxy } from '../support/fault-proxy/index.ts'
import { drained, jobWorker, openClient, startedWorker } from '../support/jobs.ts'
import { overOrWaiting } from '../support/locks.ts'
import { claimByHand } from './claim-by-hand.ts'

const plain = defineJob({ name: 'plain', perform: () => undefined })

test('a login that holds an advisory lock keeps nobody from claiming', async () => {
  await using db = await testDatabase()
  await using worker = await startedWorker(db, [plain])
  await using other = await openClient(db.url)
  await other.query(`select pg_advisory_lock(hashtextextended('sluice.claim_jobs', 0))`)

  const { id } = await worker.jobs.enqueue(plain)

  expect(await worker.events.event('job.finished')).toMatchObject({ jobId: id })
})

test.each(['sluice_enqueue', 'sluice_dashboard'])('%s may not take the turn of those who claim', async (role) => {
  await using db = await testDatabase()
  await using client = await openClient(db.url)
  await client.query(`set role ${role}`)

  await expect(client.query('select from sluice.claim_turn for update')).rejects.toMatchObject({ code: '42501' })
})

test('claims wait for each other also after a restore that has left out the row that they lock', async () => {
  await using db = await testDatabase()
  await using client = jobWorker(db, [plain])
  await client.jobs.enqueue(plain)
  await db.query('delete from sluice.claim_turn')
  await using first = await openClient(db.workerUrl)
  await first.query('begin')
  await first.query('select sluice.lock_claims()')

  const second = claimByHand(db.workerUrl, 2)

  expect(await overOrWaiting(db, second)).toBe('waiting')
  await first.query('commit')
  expect((await second).ids).toHaveLength(1)
})

test('many keys are let in a few at a time, so that others wait for few of them', async () => {
  await using db = await testDatabase()
  const names = Array.from({ length: 1_200 }, (_, n) => `key ${n}`)
  await db.query(
    `select sluice.enqueue((select json_agg(json_build_object('job', 'plain', 'key',
       json_build_object('name', k, 'limit', 1))) from unnest($1::text[]) k)::text)`,
    [names],
  )
  const sizes: number[] = []
  const counting = onConnection(
    {
      query(text, values) {
        sizes.push((values[0] as string[]).length)
        return asConnection(db).query(text, values)
      },
    },
    'sluice',
  )

  await admit(counting, { keys: names })

  expect(Math.max(...sizes)).toBeLessThanOrEqual(500)
  expect(await db.query('select state, count(*)::int as jobs from sluice.job group by state')).toEqual([
    { state: 4, jobs: 1_200 },
  ])
})

test('whoever enqueues is told when jobs with keys could not be let in, and a sweep lets them in', async () => {
  await using db = await testDatabase()
  const { hostname, port } = new URL(db.url)
  await using proxy = await startFaultProxy({ host: hostname, port: Number(port) })
  const keyed = defineJob({ name: 'keyed', concurrency: { limit: 1, key: () => 'one' }, perform: () => undefined })
  await using client = jobWorker(db, [keyed], { url: proxy.url(db.workerUrl) })
  using refused = proxy.answer('53200', { to: /admit_jobs/, times: 1 })

  await client.jobs.enqueue(keyed)

  expect(refused.hits).toBe(1)
  expect(client.events.payloads('warning')).toMatchObject([{ message: expect.stringMatching(/not let in at once/) }])
  await using _worker = await startedWorker(db, [keyed])
  await drained(db)
})

test('a claim that finds nothing locks nothing, and so writes nothing', async () => {
  await using db = await testDatabase()
  await using client = jobWorker(db, [plain])
  await client.jobs.enqueue(plain)
  const known = await claimByHand(db.workerUrl, 1)
  await db.query('delete from sluice.job')
  await using first = await openClient(db.workerUrl)
  await first.query('begin')
  await first.query('select sluice.lock_claims()')

  const second = claimByHand(db.workerUrl, 2, known)

  expect(await overOrWaiting(db, second)).toBe('over')
  expect(await second).toMatchObject({ jobs: null, life: known.life })
})
