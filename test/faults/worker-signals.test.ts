import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { defineJob, Sluice } from '../../src/index.ts'
import { startSluice, temporaryFolder } from '../cli/run-cli.ts'
import { testDatabase } from '../support/database.ts'
import { clean, jobProfile, leftovers, shortLease, startedWorker } from '../support/jobs.ts'
import { until } from '../support/wait.ts'
import { spawnWorker } from '../support/worker.ts'

const operations = `const operations = [expire({ name: 'expire-events', table: 'events', olderThan: '90 days', by: 'created_at' })]`

test.each([
  ['SIGTERM', 143],
  ['SIGINT', 130],
] as const)('%s stops a worker in good order with exit code %i', async (signal, exitCode) => {
  await using db = await testDatabase()
  await using worker = await spawnWorker({ url: db.workerUrl, operations })
  await worker.events.event('worker.started')
  worker.kill(signal)
  expect(await worker.exited).toBe(exitCode)
  expect(worker.stderr.join('\n')).toContain('worker.stopped')
  expect(await db.value<number>('select count(*)::int from sluice.worker')).toBe(0)
  for (const line of worker.stderr) expect(() => JSON.parse(line) as unknown).not.toThrow()
})

const stubborn = `import { setTimeout } from 'node:timers/promises'
import { defineJob } from 'sluice'
export default {
  worker: { stop: '10m', jobs: { poll: '50ms' } },
  jobs: [defineJob({ name: 'stubborn', perform: () => setTimeout(600_000) })],
}`

test('a second signal ends a worker at once that waits for a job', async () => {
  await using db = await testDatabase()
  await using folder = await temporaryFolder()
  await writeFile(join(folder.path, 'sluice.config.ts'), stubborn)
  await using api = new Sluice({ database: db.url })
  const { id } = await api.jobs.enqueue(defineJob({ name: 'stubborn', perform: async () => undefined }))
  using worker = startSluice(['worker'], { folder: folder.path, env: { DATABASE_URL: db.workerUrl } })
  await until('the job runs', async () => (await api.jobs.get(id)).state === 'running')
  worker.kill('SIGTERM')
  await until('it says that it waits', () => worker.ran.stderr.includes('Once more to end at once'))
  await until('it has ended', () => {
    worker.kill('SIGTERM')
    return worker.ran.exitCode !== null
  })
  expect(worker.ran.exitCode).toBe(143)
  // It did not wait: what it held is left for others to take over.
  expect(await api.jobs.get(id)).toMatchObject({ state: 'running' })
})

test.each([
  ['SIGTERM', 143],
  ['SIGINT', 130],
] as const)('%s ends a worker process in order, and it exits with %d', async (signal, code) => {
  await using db = await testDatabase()
  const jobs = `const jobs = [defineJob({ name: 'slow', retry: false,
    perform: ({ signal }) => new Promise((_, no) => signal.addEventListener('abort', () => no(signal.reason))) })]`
  const profile = jobProfile({}, { stop: '300ms' })
  await using worker = await spawnWorker({ url: db.workerUrl, jobs, profile })
  await worker.events.event('worker.started')
  await db.query(`select sluice.enqueue((select json_agg(json_build_object('job', 'slow'))::text
    from generate_series(1, 30)))`)
  await worker.events.event('job.started', { nth: 5 })
  worker.kill(signal)
  expect(await worker.exited).toBe(code)
  expect(await leftovers(db)).toEqual(clean)
  expect(await db.value('select count(*)::int from sluice.job where attempt = 0')).toBe(30)
})

test('a second signal forces a worker out that still waits for its handlers', async () => {
  await using db = await testDatabase()
  const jobs = `const jobs = [defineJob({ name: 'deaf', perform: () => new Promise(() => undefined) })]`
  await using worker = await spawnWorker({
    url: db.workerUrl,
    jobs,
    profile: jobProfile({}, { ...shortLease, stop: '10m' }),
  })
  await worker.events.event('worker.started')
  await db.query(`select sluice.enqueue('{"job": "deaf"}')`)
  await worker.events.event('job.started')
  worker.kill('SIGTERM')
  await until('it says that it stops', () => worker.stderr.some((line) => line.includes('Once more to end at once')))
  expect(worker.process.exitCode).toBeNull()
  // An echo of the first one does not count, so it may take another.
  await until('it is gone', () => {
    worker.kill('SIGTERM')
    return worker.process.exitCode !== null
  })
  expect(await worker.exited).toBe(143)
  // What it could not give back is freed by the next worker once its lease is over.
  await using next = await startedWorker(db, [], {}, { worker: shortLease })
  expect(await next.events.event('job.rescued')).toMatchObject({ name: 'deaf' })
  await until('nothing is claimed', async () => (await db.value('select count(*)::int from sluice.job_claim')) === 0)
})
