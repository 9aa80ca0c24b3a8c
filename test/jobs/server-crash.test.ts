import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import type { EmbeddedPostgres } from '../../src/embedded/index.ts'
import { defineJob } from '../../src/index.ts'
import { startCluster } from '../support/cluster.ts'
import { testDatabase, type TestDatabase } from '../support/database.ts'
import { drained, jobWorker } from '../support/jobs.ts'
import { restarting } from '../torture/restarts.ts'

// What no commit has waited for is not on disk for ten seconds, and is lost with the server.
const settings = { max_connections: '100', autovacuum: 'off', wal_writer_delay: '10s', checkpoint_timeout: '1d' }
const limit = { timeout: 180_000 }
const numbered = z.object({ n: z.number() })

let folder: string
let cluster: EmbeddedPostgres
let server: ReturnType<typeof restarting>

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sluice-server-crash-'))
  cluster = await startCluster(folder, { settings })
  server = restarting(cluster, folder)
}, 120_000)

afterAll(async () => {
  await server.stop()
  await rm(folder, { recursive: true, force: true })
})

/** A database whose commits wait for the disk, as they do in production. */
async function durable(): Promise<TestDatabase> {
  const db = await testDatabase(cluster.url)
  await db.query(`alter database ${await db.value<string>('select current_database()')} set synchronous_commit = on`)
  return db
}

interface Claimed {
  jobs: string | null
  life: string
  floor: string
}

/** Claims as a worker does, on a connection that ends with it. */
async function claim(db: TestDatabase, id: number, known?: Claimed): Promise<Claimed & { ids: number[] }> {
  const client = new pg.Client({ connectionString: db.workerUrl })
  await client.connect()
  try {
    const { rows } = await client.query<Claimed>(
      `select r.jobs, r.life, r.claims_floor as floor
       from sluice.queue q, sluice.claim_jobs($1, gen_random_uuid(), array(select id from sluice.job_class), array[q.id],
         array[q.id], '{1}', '{0}', 10, 10, 1, $2, $3) r
       where q.name = 'default'`,
      [id, known?.life ?? null, known?.floor ?? '0'],
    )
    const claimed = rows[0] ?? expect.unreachable()
    const jobs = JSON.parse(claimed.jobs ?? '[]') as [id: number][]
    return { ...claimed, ids: jobs.map(([job]) => job) }
  } finally {
    await client.end()
  }
}

const claims = (db: TestDatabase): Promise<number[]> =>
  db.value(`select coalesce(array_agg(id::int order by id), '{}') from sluice.job_claim`)

test('a claim is on disk before anybody begins, and nobody gets the same job twice', limit, async () => {
  await using db = await durable()
  const plain = defineJob({ name: 'plain', args: numbered, perform: () => undefined })
  await using client = jobWorker(db, [plain])
  const first = await client.jobs.enqueue(plain, { n: 1 })
  const kept = await claim(db, 1)
  expect(kept.ids).toEqual([first.id])
  await server.restart(0)
  expect(await claims(db)).toEqual([1])
  // What was remembered of claims in the life before counts for nothing: the job is on a list, and seen there.
  const second = await client.jobs.enqueue(plain, { n: 2 })
  const again = await claim(db, 2, kept)
  expect(again.ids).toEqual([second.id])
  expect(again.life).not.toBe(kept.life)
  expect((await claim(db, 3, again)).ids).toEqual([])
})

test(
  'a worker outlives a crash of the server in the middle of a job: it ends once, and nothing stays',
  limit,
  async () => {
    await using db = await durable()
    let runs = 0
    const crashing = defineJob({
      name: 'crashing',
      args: numbered,
      async perform() {
        runs += 1
        if (runs === 1) await server.restart(0)
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
  },
)
