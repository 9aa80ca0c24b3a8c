import { hostname } from 'node:os'
import { expect, test } from 'vitest'
import { version } from '../../src/index.ts'
import { until } from '../support/wait.ts'
import { definitions, place } from './job-place.ts'
import { startSluice } from './run-cli.ts'

// Each test runs the command line many times, which takes a second each on a busy machine.
const { plain, long } = definitions

test('list shows the workers with what they know and hold', async () => {
  await using at = await place()
  expect((await at.run('workers', 'list')).stderr).toBe('No worker is running. Start one with: sluice worker\n')
  const { id } = await at.api.jobs.enqueue(long)
  await at.work(plain, long)
  await until('it runs', async () => (await at.api.jobs.get(id)).state === 'running')
  const { stdout, stderr } = await at.run('workers', 'list')
  const [head, first] = stdout.split('\n')
  expect(head).toMatch(/^id +host +pid +version +operations +jobs +sweeps +queues +running +seen$/)
  expect(first).toContain(`  ${hostname()}  `)
  expect(first).toMatch(new RegExp(`  ${process.pid}  .*  plain, long +– +all +1 of 10 +(now|\\d+ s)$`))
  expect(stderr).toBe('')
  expect(await at.json('workers', 'list')).toMatchObject({
    version: 1,
    workers: [{ pid: process.pid, version, running: 1, concurrency: 10, queues: [], seenMs: expect.any(Number) }],
  })
  await at.db.query(
    `insert into sluice.worker (id, host, pid, version, operations)
     values (gen_random_uuid(), 'old', 1, '0.0.1', '{expire-events}')`,
  )
  const mixed = await at.run('workers', 'list')
  expect(mixed.stdout).toMatch(/ old +1 +0\.0\.1 +expire-events +– +– +all /)
  expect(mixed.stderr).toContain(`the workers have different versions: ${version}, 0.0.1`)
})

test('worker takes jobs, as many at once and from the queues that it was told', async () => {
  await using at = await place()
  const elsewhere = (await at.api.jobs.enqueue(plain)).id
  const { id } = await at.api.jobs.enqueue(plain, undefined, { queue: 'mail' })
  const env = { DATABASE_URL: at.db.workerUrl }
  using worker = startSluice(['worker', '--jobs', '3', '--queues', 'mail,slow'], { folder: at.folder, env })
  expect(await at.api.jobs.wait(id)).toMatchObject({ state: 'succeeded', queue: 'mail' })
  expect(await at.json('workers', 'list')).toMatchObject({ workers: [{ concurrency: 3, queues: ['mail', 'slow'] }] })
  expect(worker.ran.stderr).toContain('"jobs":["add-number","sync-customer","plain"')
  expect(await at.api.jobs.get(elsewhere)).toMatchObject({ state: 'waiting', attempt: 0 })
  const bulk = (await at.json('jobs', 'discard', '--all', '--queue', 'default', '--yes')) as { id: number }
  expect(await at.api.jobs.wait(bulk.id)).toMatchObject({ state: 'succeeded' })
  expect(await at.api.jobs.get(elsewhere)).toMatchObject({ state: 'discarded' })
  worker.kill('SIGTERM')
  expect(await worker.ended).toMatchObject({ exitCode: 143, stderr: expect.stringContaining('worker.stopped') })
})

test('drain ends a worker, which is no failure', async () => {
  await using at = await place()
  using worker = startSluice(['worker'], { folder: at.folder, env: { DATABASE_URL: at.db.workerUrl } })
  await until('it is there', async () => (await at.api.workers()).length === 1)
  const [there] = await at.api.workers()
  const drained = await at.run('workers', 'drain', there?.id ?? '', '--reason', 'the host goes away', '--actor', 'ann')
  expect(drained.stdout).toBe(`${there?.id} will end when what it runs has ended.\n`)
  expect(await worker.ended).toMatchObject({ exitCode: 0, stderr: expect.stringContaining('worker.draining') })
  const gone = await at.run('workers', 'drain', there?.id ?? '')
  expect(gone).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('There is no worker') })
})
