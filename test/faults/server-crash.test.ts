import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { defineJob } from '../../src/index.ts'
import { testDatabase, type TestDatabase } from '../support/database.ts'
import { drained, jobWorker } from '../support/jobs.ts'
import { ownServer, type OwnServer } from '../support/own-server.ts'
import { until } from '../support/wait.ts'
import { claimByHand } from '../jobs/claim-by-hand.ts'

const numbered = z.object({ n: z.number() })

let server: OwnServer

beforeAll(async () => {
  // What no commit has waited for is not on disk for ten seconds, and is lost with the server.
  server = await ownServer({ autovacuum: 'off', wal_writer_delay: '10s', checkpoint_timeout: '1d' })
})

afterAll(() => server[Symbol.asyncDispose]())

const claims = (db: TestDatabase): Promise<number[]> =>
  db.value(`select coalesce(array_agg(id::int order by id), '{}') from sluice.job_claim`)

/** Has each transaction that claims say, at its very end, whether its commit waits for the disk. */
async function tellCommits(db: TestDatabase): Promise<void> {
  await db.query('create table commits (mode text)')
  await db.query(`create function tell() returns trigger language plpgsql security definer as
    $$ begin insert into public.commits values (current_setting('synchronous_commit')); return null; end $$`)
  await db.query(`create constraint trigger tell after insert on sluice.job_claim deferrable initially deferred
    for each row execute function tell()`)
}

test('a claim is on disk before anybody begins, and nobody gets the same job twice', async () => {
  await using db = await testDatabase(server.url)
  await tellCommits(db)
  const plain = defineJob({ name: 'plain', args: numbered, perform: () => undefined })
  await using client = jobWorker(db, [plain])
  const first = await client.jobs.enqueue(plain, { n: 1 })
  const kept = await claimByHand(db.workerUrl, 1)
  expect(kept.ids).toEqual([first.id])
  // One that does not wait would be lost with the server only now and then.
  expect(await db.query('select mode from commits')).toEqual([{ mode: 'on' }])
  await server.crash()
  expect(await claims(db)).toEqual([1])
  // What was remembered of claims in the life before counts for nothing: the job is on a list, and seen there.
  const second = await client.jobs.enqueue(plain, { n: 2 })
  const again = await claimByHand(db.workerUrl, 2, kept)
  expect(again.ids).toEqual([second.id])
  expect(again.life).not.toBe(kept.life)
  expect((await claimByHand(db.workerUrl, 3, again)).ids).toEqual([])
})

test('the crash of one session begins another life, though the server goes on', async () => {
  await using db = await testDatabase(server.url)
  const plain = defineJob({ name: 'plain', args: numbered, perform: () => undefined })
  await using client = jobWorker(db, [plain])
  await client.jobs.enqueue(plain, { n: 1 })
  const kept = await claimByHand(db.workerUrl, 1)
  const began = await db.value<Date>('select pg_postmaster_start_time()')
  process.kill(await db.value<number>('select pg_backend_pid()'), 'SIGKILL')
  await until('the server has recovered', async () => (await db.value('select true').catch(() => false)) === true)
  expect(await db.value('select pg_postmaster_start_time()')).toEqual(began)
  expect((await claimByHand(db.workerUrl, 2, kept)).life).not.toBe(kept.life)
})

test('a worker outlives a crash of the server in the middle of a job: it ends once, and nothing stays', async () => {
  await using db = await testDatabase(server.url)
  let runs = 0
  const crashing = defineJob({
    name: 'crashing',
    args: numbered,
    async perform() {
      runs += 1
      if (runs === 1) await server.crash()
    },
  })
  // Signs of life are commits that are waited for: here they are far between.
  await using worker = jobWorker(db, [crashing], {}, { worker: { lease: '10m' } })
  await worker.jobs.enqueue(crashing, { n: 1 })
  await worker.sluice.start()
  await worker.events.event('job.finished', { limitMs: 120_000 })
  await drained(db)
  // Its claim outlived the crash as well.
  expect({ runs, lost: worker.events.count('job.lost') }).toEqual({ runs: 1, lost: 0 })
  expect(await claims(db)).toEqual([])
  expect(await db.value('select count(*)::int from sluice.job_history')).toBe(1)
  expect(await db.value('select count(*)::int from sluice.job_dead')).toBe(0)
})
