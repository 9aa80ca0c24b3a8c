import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { defineJob, Sluice } from '../../src/index.ts'
import { testDatabase } from '../support/database.ts'
import { until } from '../support/wait.ts'
import { spawnWorker } from '../support/worker.ts'
import { sluice, startSluice, temporaryFolder } from './run-cli.ts'

const operations = `const operations = [expire({ name: 'expire-events', table: 'events', olderThan: '90 days', by: 'created_at' })]`

test.each([
  ['SIGTERM', 143],
  ['SIGINT', 130],
] as const)('%s stops a worker in good order with exit code %i', async (signal, exitCode) => {
  await using db = await testDatabase()
  await using worker = await spawnWorker({ url: db.workerUrl, operations })
  await worker.events.event('worker.started', { limitMs: 60_000 })
  worker.kill(signal)
  expect(await worker.exited).toBe(exitCode)
  expect(worker.stderr.join('\n')).toContain('worker.stopped')
  expect(await db.value<number>('select count(*)::int from sluice.worker')).toBe(0)
  for (const line of worker.stderr) expect(() => JSON.parse(line) as unknown).not.toThrow()
})

test('a worker refuses a database without the schema, with exit code 4', async () => {
  await using db = await testDatabase()
  await using folder = await temporaryFolder()
  await sluice(['init'], { folder: folder.path })
  const env = { DATABASE_URL: db.url }
  const { exitCode, stderr } = await sluice(['worker', '--schema', 'missing'], { folder: folder.path, env })
  expect(JSON.parse(stderr)).toMatchObject({ code: 'SCHEMA_MISSING' })
  expect(exitCode).toBe(4)
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
