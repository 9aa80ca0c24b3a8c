import { expect, test } from 'vitest'
import { testDatabase } from '../support/database.ts'
import { spawnWorker } from '../support/worker.ts'
import { sluice, temporaryFolder } from './run-cli.ts'

const operations = `const operations = [expire({ name: 'expire-events', table: 'events', olderThan: '90 days', by: 'created_at' })]`

test.each([
  ['SIGTERM', 143],
  ['SIGINT', 130],
] as const)('%s stops a worker in good order with exit code %i', async (signal, exitCode) => {
  await using db = await testDatabase()
  await using worker = await spawnWorker({ url: db.workerUrl, operations })
  await expect.poll(() => worker.stderr.join('\n'), { timeout: 10_000 }).toContain('worker.started')
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
