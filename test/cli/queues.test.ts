import { userInfo } from 'node:os'
import { expect, test } from 'vitest'
import { definitions, nasty, place } from './job-place.ts'
import { sluiceHere } from './run-cli.ts'

// Each test runs the command line many times, which takes a second each on a busy machine.
const { plain, fails, keyed } = definitions

test('list shows what is in each queue', async () => {
  await using at = await place()
  expect(await at.run('queues', 'list')).toEqual({
    exitCode: 0,
    stdout: '',
    stderr: expect.stringContaining('There is no queue yet'),
  })
  const { jobs } = at.api
  await jobs.enqueueMany(plain, [undefined, undefined])
  await jobs.enqueue(plain, undefined, { in: '1h' })
  await jobs.enqueueMany(keyed, [undefined, undefined])
  await jobs.enqueue(fails)
  const { stdout, stderr } = await at.run('queues', 'list')
  const [head, billing, other] = stdout.split('\n')
  expect(head).toMatch(/^queue +waiting +scheduled +blocked +running +parked +oldest$/)
  expect(billing).toMatch(/^billing +1 +0 +0 +0 +1 +\S.*\S$/)
  expect(other).toMatch(/^default +3 +1 +1 +0 +5 +\S.*\S$/)
  expect(stderr).toBe('6 jobs parked: no running worker knows the name.\n')
  expect(await at.json('queues', 'list')).toMatchObject({
    version: 1,
    queues: [
      { name: 'billing', waiting: 1, paused: false, rate: null },
      { name: 'default', waiting: 3, scheduled: 1, blocked: 1, parked: 5 },
    ],
  })
})

test('pause lets nothing start until resume, and says who did it', async () => {
  await using at = await place()
  const { id } = await at.api.jobs.enqueue(plain)
  const paused = await at.run('queues', 'pause', 'default')
  expect(paused).toEqual({ exitCode: 0, stdout: '! queue default is paused: 1 job waits, 0 run\n', stderr: '' })
  expect((await at.run('queues', 'list')).stdout).toContain(`paused by ${userInfo().username}`)
  await at.work(plain, fails)
  expect((await at.run('jobs', 'show', String(id))).stdout).toMatch(/^plain \d+ waits: its queue default is paused by/)
  // What comes later in another queue gets its turn; the paused one was looked at by then.
  await at.api.jobs.wait((await at.api.jobs.enqueue(fails)).id)
  expect(await at.api.jobs.get(id)).toMatchObject({ state: 'waiting', attempt: 0 })

  expect(await at.json('queues', 'pause', 'default', '--actor', nasty)).toMatchObject({
    version: 1,
    queue: { name: 'default', paused: true, pausedBy: nasty },
  })
  expect((await at.run('queues', 'list')).stdout).toContain(String.raw`paused by bad \u001b[31mred\u009b2J\u202eend`)
  const resumed = await at.run('queues', 'resume', 'default')
  expect(resumed).toMatchObject({ exitCode: 0, stdout: expect.stringMatching(/^✓ queue default is open: /) })
  expect(await at.api.jobs.wait(id)).toMatchObject({ state: 'succeeded' })
})

test('limit sets how many may start per time, or takes the limit away', async () => {
  await using at = await place()
  const { id } = await at.api.jobs.enqueue(plain)
  const limited = await at.run('queues', 'limit', 'default', '100', '--per', '1m')
  expect(limited).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('open for 100 per 1 min: 1 job waits') })
  expect((await at.run('queues', 'list')).stdout).toMatch(/^default .* at most 100 per 1 min$/m)
  expect(await at.json('queues', 'list')).toMatchObject({ queues: [{ rate: { limit: 100, perMs: 60_000 } }] })
  expect(await at.json('queues', 'limit', 'default', '--none')).toMatchObject({ version: 1, queue: { rate: null } })
  expect(await at.api.jobs.get(id)).toMatchObject({ state: 'waiting' })
})

test('a queue that is not there is not found, with what was meant', async () => {
  await using at = await place()
  await at.api.jobs.enqueue(fails)
  for (const args of [['pause'], ['resume'], ['limit', '--none']]) {
    const [verb = '', ...rest] = args
    const { exitCode, stdout, stderr } = await at.run('queues', verb, 'biling', ...rest)
    expect(stderr).toContain('Did you mean "billing"?')
    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' })
  }
})

test.each([
  [['pause', 'a b'], 'cannot be the name of a queue'],
  [['pause'], "missing required argument 'queue'"],
  [['limit', 'default'], 'give a number and --per'],
  [['limit', 'default', '5'], 'give a number and --per'],
  [['limit', 'default', '5', '--none'], '--none alone'],
  [['limit', 'default', '0', '--per', '1m'], 'whole number from 1 to 1,000,000'],
  [['limit', 'default', '1.5', '--per', '1m'], 'whole number from 1 to 1,000,000'],
  [['limit', 'default', '5', '--per', 'minute'], 'a time such as "1m"'],
  [['limit', 'default', '5', '--per', '0s'], 'a time such as "1m"'],
  [['limit', 'default', '5', '--per', '52 weeks'], 'a time such as "1m"'],
])('sluice queues %j is refused before anybody asks the database', async (args, complaint) => {
  const { exitCode, stdout, stderr } = await sluiceHere(['queues', ...args], {
    env: { DATABASE_URL: 'postgres://u@127.0.0.1:1/x' },
  })
  expect(stderr).toContain(complaint)
  expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' })
})
