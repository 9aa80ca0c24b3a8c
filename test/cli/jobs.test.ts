import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { until } from '../support/wait.ts'
import { definitions, place } from './job-place.ts'

// Each test runs the command line many times, which takes a second each on a busy machine.
const { plain, fails, gone, later, long, keyed, locked } = definitions

test('enqueue records a job of the configuration with all that was asked for', async () => {
  await using at = await place()
  const first = await at.run('jobs', 'enqueue', 'add-number', '--args', '{"n": 1}', '--tags', 'vip, eu')
  const id = Number(first.stdout)
  expect(first).toEqual({
    exitCode: 0,
    stdout: `${id}\n`,
    stderr: expect.stringContaining(`sluice jobs show ${id}`),
  })
  expect(await at.api.jobs.get(id)).toMatchObject({ name: 'add-number', args: { n: 1 }, tags: ['vip', 'eu'] })

  await writeFile(join(at.folder, 'args.json'), '{ "n": 2 }')
  const moment = new Date(Date.now() + 86_400_000).toISOString()
  const more = ['--args-file', 'args.json', '--at', moment, '--queue', 'slow', '--priority', 'high']
  const second = await at.json('jobs', 'enqueue', 'add-number', ...more)
  expect(second).toEqual({ version: 1, id: expect.any(Number), duplicate: false })
  const { id: secondId } = second as { id: number }
  expect(await at.api.jobs.get(secondId)).toMatchObject({
    state: 'scheduled',
    queue: 'slow',
    priority: 'high',
    args: { n: 2 },
    runAt: new Date(moment),
  })
  const third = await at.run('jobs', 'enqueue', 'plain', '--in', '30m')
  expect(third.stderr).toMatch(/^plain \d+ is scheduled: it runs in (30|29) min/)
})

test('enqueue names the job that has the unique key', async () => {
  await using at = await place()
  const { stdout } = await at.run('jobs', 'enqueue', 'sync-customer')
  const again = await at.run('jobs', 'enqueue', 'sync-customer')
  expect(again).toEqual({ exitCode: 0, stdout, stderr: expect.stringContaining('nothing new was enqueued') })
  expect(await at.json('jobs', 'enqueue', 'sync-customer')).toEqual({ version: 1, id: Number(stdout), duplicate: true })

  const table = await at.run('jobs', 'locks')
  expect(table.stdout).toMatch(/^name +key +job +until +expires\nsync-customer +customer 7 +\d+ +success +20\d\d-/)
  expect(await at.json('jobs', 'locks', '--name', 'sync-customer')).toMatchObject({
    version: 1,
    locks: [{ name: 'sync-customer', key: 'customer 7', jobId: Number(stdout), until: 'success' }],
  })
  expect((await at.run('jobs', 'locks', '--name', 'plain')).stderr).toBe('No unique key of plain is taken.\n')

  const wrong = await at.run('jobs', 'unlock', 'sync-customer', 'customer 8')
  expect(wrong).toMatchObject({ exitCode: 1, stdout: '', stderr: expect.stringContaining('sluice jobs locks') })
  const freed = await at.run('jobs', 'unlock', 'sync-customer', 'customer 7')
  expect(freed).toEqual({ exitCode: 0, stdout: '✓ the key customer 7 of sync-customer is free\n', stderr: '' })
  expect(await at.json('jobs', 'unlock', 'sync-customer', 'customer 7')).toMatchObject({ freed: false })
  expect(await at.json('jobs', 'enqueue', 'sync-customer')).toMatchObject({ duplicate: false })
})

test('list shows jobs in a table, a page at a time', async () => {
  await using at = await place()
  expect((await at.run('jobs', 'list', '--name', 'plan')).stderr).toBe(
    'There is no job of plan that is not over. Did you mean "plain"?\n',
  )
  const { jobs } = at.api
  const ids = [
    (await jobs.enqueue(plain, undefined, { tags: ["it's urgent"] })).id,
    (await jobs.enqueue(plain, undefined, { in: '2h', tags: ["it's urgent"] })).id,
    (await jobs.enqueue(keyed)).id,
    (await jobs.enqueue(keyed)).id,
  ]
  const all = await at.run('jobs', 'list')
  const [head, fourth, , second, first] = all.stdout.split('\n')
  expect(head).toMatch(/^ *id +name +queue +state +attempt +since +note$/)
  expect(first).toMatch(new RegExp(`^ *${ids[0]}  plain  default  waiting +0 +\\S.* parked$`))
  expect(second).toMatch(/ scheduled +0 .* parked$/)
  expect(fourth).toMatch(/ blocked .* parked$/)

  const page = await at.run('jobs', 'list', '--tag', "it's urgent", '--limit', '1')
  expect(page.stdout).toContain(` ${ids[1]} `.trim())
  const next = `sluice jobs list --tag 'it'\\''s urgent' --limit 1 --before ${ids[1]}`
  expect(page.stderr).toBe(`There are more: ${next}\n`)
  const rest = ['jobs', 'list', '--tag', "it's urgent", '--limit', '1', '--before', String(ids[1])]
  expect(await at.json(...rest)).toMatchObject({
    version: 1,
    jobs: [{ id: ids[0], tags: ["it's urgent"] }],
    next: null,
  })
  expect(await at.json('jobs', 'list', '--state', 'scheduled,running', '--queue', 'default')).toMatchObject({
    jobs: [{ id: ids[1] }],
  })
  expect((await at.run('jobs', 'list', '--state', 'dead,quarantined', '--queue', 'x')).stderr).toBe(
    'There is no dead or quarantined job in x.\n',
  )
})

test('list finds jobs of a name by what is in their args', async () => {
  await using at = await place()
  for (const n of [1, 2, 2]) await at.run('jobs', 'enqueue', 'add-number', '--args', JSON.stringify({ n }))
  const found = await at.json('jobs', 'list', '--name', 'add-number', '--arg', 'n=2', '--limit', '1')
  expect(found).toMatchObject({ jobs: [{ args: { n: 2 } }], next: expect.any(Number) })
  const page = await at.run('jobs', 'list', '--name', 'add-number', '--arg', 'n=2', '--limit', '1')
  expect(page.stderr).toMatch(/sluice jobs list --name add-number --arg n=2 --limit 1 --before \d+\n$/)
  const none = await at.run('jobs', 'list', '--name', 'add-number', '--arg', 'n="2"')
  expect(none.stderr).toBe('There is no job of add-number with n="2" that is not over.\n')
  const nameless = await at.run('jobs', 'list', '--arg', 'n=2')
  expect(nameless).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('Give the name, too.') })
})

test('show tells how jobs ended, with each attempt, and obeys no escape of stored text', async () => {
  await using at = await place()
  const { jobs } = at.api
  const failed = (await jobs.enqueue(fails)).id
  const cancelled = (await jobs.enqueue(gone)).id
  const snoozed = (await jobs.enqueue(later)).id
  const done = (await jobs.enqueue(plain)).id
  expect((await at.run('jobs', 'show', String(failed))).stdout).toMatch(
    new RegExp(
      `^fails ${failed} is parked in billing: no running worker knows it\n +id +${failed}\n +state +waiting, parked`,
    ),
  )
  await at.work(fails, gone, later, plain)
  for (const id of [failed, cancelled, done]) await jobs.wait(id)
  await until('it is snoozed', async () => (await jobs.get(snoozed)).attempts.length === 1)

  const { stdout } = await at.run('jobs', 'show', String(failed))
  expect(stdout).toMatch(new RegExp(`^fails ${failed} is dead: failed 2 of 2 times on any error\n`))
  expect(stdout).toMatch(/\n {2}attempt 1 .*: retry(?: in \d+ ms)?, failure 1 of 2 on any error\n/)
  expect(stdout).toMatch(/\n {2}attempt 2 .*: dead, failed 2 of 2 times on any error\n/)
  const shown = String.raw`TypeError: no such bad \u001b[31mred\u009b2J\u202eend second line (E_GONE)`
  expect(stdout.split('\n').filter((line) => line.includes(shown))).toHaveLength(2)
  expect((await at.run('jobs', 'show', String(failed), '--verbose')).stdout).toMatch(/\n {6}at .*job-place\.ts/)
  expect(await at.json('jobs', 'show', String(failed))).toMatchObject({
    version: 1,
    job: {
      state: 'dead',
      attempts: [
        { attempt: 1, verdict: 'retry' },
        { verdict: 'dead', error: { code: 'E_GONE' } },
      ],
    },
  })

  const table = await at.run('jobs', 'list', '--state', 'dead,cancelled')
  expect(table.stdout).toContain(String.raw`TypeError: no such bad \u001b[31mred`)
  // oxlint-disable-next-line no-control-regex -- that is what must not be there
  expect(table.stdout + stdout).not.toMatch(/[\u001B\u009B\u202E]/)
  expect((await at.run('jobs', 'show', String(cancelled))).stdout).toMatch(/^gone \d+ was cancelled: the customer is/)
  expect((await at.run('jobs', 'show', String(snoozed))).stdout).toMatch(
    /^later \d+ is snoozed and runs again in (59 min|1 h).*: not there yet\n/,
  )
  expect((await at.run('jobs', 'show', String(done))).stdout).toMatch(
    /^plain \d+ succeeded in attempt 1: it waited .* and ran .*\n.*args +not kept/s,
  )
  expect((await at.run('jobs', 'list', '--state', 'succeeded')).stdout).toMatch(/ plain .* succeeded .* ran \d+ ms\n$/)
  expect(await at.run('jobs', 'list', '--state', 'succeeded', '--within', 'long')).toMatchObject({ exitCode: 2 })
})

test('run, discard, cancel and retry change the course of one job', async () => {
  await using at = await place()
  const id = String((await at.api.jobs.enqueue(plain, undefined, { in: '1h' })).id)
  expect((await at.run('jobs', 'run', id)).stdout).toBe(
    `! plain ${id} is parked in default: no running worker knows it\n`,
  )
  expect(await at.run('jobs', 'run', id)).toMatchObject({ exitCode: 6, stderr: expect.stringContaining('JOB_STATE') })
  const discarded = await at.run('jobs', 'discard', id, '--reason', 'not needed any more')
  expect(discarded).toEqual({ exitCode: 0, stdout: `! plain ${id} was discarded: not needed any more\n`, stderr: '' })
  expect(await at.json('jobs', 'retry', id)).toMatchObject({ version: 1, job: { id: Number(id), state: 'waiting' } })
  expect(await at.json('jobs', 'cancel', id, '--reason', 'enough')).toMatchObject({
    job: { state: 'cancelled', reason: 'enough' },
  })
  expect(await at.run('jobs', 'discard', id)).toMatchObject({ exitCode: 6 })
  expect(await at.run('jobs', 'cancel', '4711')).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining('JOB_NOT_FOUND'),
  })
})

test('cancel tells the handler of a running job to stop', async () => {
  await using at = await place()
  const { id } = await at.api.jobs.enqueue(long)
  await at.work(long)
  await until('it runs', async () => (await at.api.jobs.get(id)).state === 'running')
  expect((await at.run('jobs', 'show', String(id))).stdout).toMatch(/^long \d+ runs, attempt 1, on worker \S+\n/)
  const cancelled = await at.run('jobs', 'cancel', String(id))
  expect(cancelled).toMatchObject({ exitCode: 0, stdout: `! long ${id} still runs; its handler is told to stop\n` })
  expect(await at.api.jobs.wait(id)).toMatchObject({ state: 'cancelled' })
})

test('with --all a verb is done to all jobs of a filter, in the background, once somebody said yes', async () => {
  await using at = await place()
  const { jobs } = at.api
  const worker = await at.work(fails)
  const ids = (await jobs.enqueueMany(fails, [undefined, undefined, undefined])).map(({ id }) => id)
  for (const id of ids) await jobs.wait(id)
  await worker.stop()

  const retry = ['jobs', 'retry', '--all', '--name', 'fails', '--queue', 'billing']
  expect(await at.run(...retry)).toEqual({
    exitCode: 5,
    stdout: '',
    stderr: expect.stringMatching(/This retries 3 dead jobs of fails in billing\. Nobody can be asked.*--yes/),
  })
  expect(await at.json('jobs', 'list')).toMatchObject({ jobs: [] })
  expect(await at.run('jobs', 'retry', '--all', '--name', 'plain', '--yes')).toEqual({
    exitCode: 0,
    stdout: '',
    stderr: 'There are no dead jobs of plain: nothing to retry.\n',
  })

  const started = await at.run(...retry, '--yes')
  const id = Number(started.stdout)
  expect(started.stderr).toMatch(
    new RegExp(`no worker is running.*sluice jobs show ${id}\n.*sluice jobs cancel ${id}\n`, 's'),
  )
  await at.work(plain)
  expect(await jobs.wait(id)).toMatchObject({ state: 'succeeded' })
  expect((await jobs.list({ name: 'fails' })).jobs.map((job) => job.id)).toEqual(ids.toReversed())

  const discard = await at.json('jobs', 'discard', '--all', '--state', 'waiting', '--name', 'fails', '--yes')
  expect(discard).toEqual({ version: 1, id: expect.any(Number), matching: 3, more: false })
  await jobs.wait((discard as { id: number }).id)
  expect((await jobs.list({ states: ['discarded'] })).jobs).toHaveLength(3)
})

test('discard --all --state dead marks dead jobs, as the dashboard does', async () => {
  await using at = await place()
  const { jobs } = at.api
  const worker = await at.work(fails)
  const ids = (await jobs.enqueueMany(fails, [undefined, undefined])).map(({ id }) => id)
  for (const id of ids) expect(await jobs.wait(id)).toMatchObject({ state: 'dead' })
  await worker.stop()
  const all = ['jobs', 'discard', '--all', '--state', 'dead']
  expect((await at.run(...all)).stderr).toContain('This discards 2 dead jobs.')
  const { id } = (await at.json(...all, '--yes')) as { id: number }
  await at.work(plain)
  expect(await jobs.wait(id)).toMatchObject({ state: 'succeeded' })
  expect((await jobs.list({ states: ['discarded'] })).jobs.map((job) => job.id)).toEqual(ids.toReversed())
})

test('cancel --all ends every job but the one that does it', async () => {
  await using at = await place()
  const { jobs } = at.api
  await jobs.enqueueMany(locked, [undefined])
  await jobs.enqueueMany(later, Array.from({ length: 1_200 }), { in: '1h' })
  const started = await at.run('jobs', 'cancel', '--all')
  expect(started.stderr).toContain('This cancels 1,201 waiting, scheduled, blocked or running jobs.')
  const { id } = (await at.json('jobs', 'cancel', '--all', '--yes')) as { id: number }
  await at.work(plain)
  expect(await jobs.wait(id)).toMatchObject({ state: 'succeeded' })
  expect((await jobs.list()).jobs).toEqual([])
  expect(await jobs.locks()).toEqual([])
})
