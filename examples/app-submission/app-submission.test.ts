import { readFile } from 'node:fs/promises'
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { Sluice } from '../../src/index.ts'
import { testJobs, type TestJobs } from '../../src/testing/index.ts'
import { testDatabase, type TestDatabase } from '../../test/support/database.ts'
import { openClient } from '../../test/support/jobs.ts'
import { submissions } from './machine.ts'
import config from './sluice.config.ts'
import { appStore } from './store.ts'

let db: TestDatabase
let sluice: Sluice
let jobs: TestJobs

beforeAll(async () => {
  db = await testDatabase()
  sluice = new Sluice({ ...config, database: db.workerUrl })
  jobs = testJobs(sluice)
  await db.query(await readFile(new URL('schema.sql', import.meta.url), 'utf8'))
  await db.query('grant usage on sequence submissions_id_seq to test_worker')
})

afterAll(async () => {
  await sluice.stop()
  await db[Symbol.asyncDispose]()
})

beforeEach(async () => {
  vi.restoreAllMocks()
  await jobs.clear()
  await db.query('truncate submissions')
  appStore.uploads.clear()
  appStore.submissions.clear()
  Object.assign(appStore, { calls: 0, verdict: 'waiting' })
})

/** What the application does: a row and its first job, together or not at all. */
async function submit(title = 'Pastel'): Promise<string> {
  await using client = await openClient(db.workerUrl)
  await client.query('begin')
  const { rows } = await client.query(
    `insert into submissions (title, binary_path) values ($1, '/builds/1.ipa') returning id`,
    [title],
  )
  await sluice.machines.start(submissions, rows[0].id, { tx: client })
  await client.query('commit')
  return String(rows[0].id)
}

const stateOf = (id: string): Promise<string> => db.value('select state from submissions where id = $1', [id])

async function halfAnHourLater(): Promise<void> {
  await jobs.clock.travel('30m')
  await jobs.drain()
}

test('a submission goes through all its states, and polls every 30 minutes', async () => {
  const id = await submit()
  await jobs.drain()
  expect(await stateOf(id)).toBe('submitted')
  await halfAnHourLater()
  expect(await stateOf(id)).toBe('submitted')
  appStore.verdict = 'reviewing'
  await halfAnHourLater()
  expect(await stateOf(id)).toBe('in_review')
  appStore.verdict = 'approved'
  await halfAnHourLater()
  expect(await stateOf(id)).toBe('approved')
  expect(await jobs.enqueued()).toEqual([])
  expect([appStore.uploads.size, appStore.submissions.size]).toEqual([1, 1])
})

test('what cannot be submitted is rejected, with the reason in the row', async () => {
  const id = await submit('')
  await jobs.drain()
  expect(await db.query('select state, problem from submissions where id = $1', [id])).toEqual([
    { state: 'rejected', problem: 'it has no title' },
  ])
  expect(appStore.calls).toBe(0)
})

test('an attempt that fails behind its upload repeats it with the same key', async () => {
  const upload = appStore.upload.bind(appStore)
  vi.spyOn(appStore, 'upload').mockImplementationOnce(async (path, key) => {
    await upload(path, key)
    throw new Error('the answer was lost')
  })
  const id = await submit()
  await jobs.drain({ until: ({ ending }) => ending.kind === 'retried' })
  expect(await stateOf(id)).toBe('validated')
  await jobs.clock.travel('1m')
  await jobs.drain()
  expect(await stateOf(id)).toBe('submitted')
  // Asked twice to take the binary; it is there once.
  expect([appStore.calls, appStore.uploads.size]).toEqual([3, 1])
})

test('the queue is lost in the middle, and the row is driven on', async () => {
  const id = await submit()
  await jobs.drain({ limit: 1 })
  expect(await jobs.clear()).toBe(1)
  await db.query(`update submissions set state_changed_at = now() - interval '11 minutes'`)
  expect(await sluice.reconcilers.run('app-submission.stuck')).toMatchObject({ found: 1, enqueued: 1 })
  await jobs.clock.travel('1m')
  await jobs.drain()
  expect(await stateOf(id)).toBe('submitted')
})

test('a webhook that knows more moves the row, and the poll finds nothing to do', async () => {
  const id = await submit()
  await jobs.drain()
  await sluice.machines.advance(submissions, id, { to: 'approved' })
  await jobs.clock.travel('30m')
  expect(await jobs.drain()).toMatchObject([
    { ending: { kind: 'succeeded', left: 'its row is in the state approved' } },
  ])
  // It comes twice, as webhooks do; and what was not declared does not happen.
  expect(await sluice.machines.advance(submissions, id, { to: 'approved' })).toMatchObject({ job: null })
  await expect(sluice.machines.advance(submissions, id, { to: 'in_review' })).rejects.toMatchObject({
    code: 'MACHINE_STATE',
  })
})

test('the graph is drawn from the definition', async () => {
  await submit()
  const { states, graph, counted } = await sluice.machines.show('app-submission')
  expect(counted).toBe('exact')
  expect(states[0]).toEqual({ state: 'pending', rows: 1, to: ['validated', 'rejected'] })
  expect(graph).toContain('  validated --> binary_uploaded\n  binary_uploaded --> submitted\n')
  expect(graph).toContain('  submitted --> in_review : after 30 min\n')
})
