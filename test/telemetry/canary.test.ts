import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineJob, defineOperation, Sluice } from '../../src/index.ts'
import { prometheus } from '../../src/observe/metrics/index.ts'
import { sluiceHere, temporaryFolder } from '../cli/run-cli.ts'
import { testDatabase } from '../support/database.ts'
import { drained, jobProfile } from '../support/jobs.ts'
import { EventLog } from '../support/events.ts'

const canary = 'canary-5f3a"b c'
const [token, password] = [z.string(), z.string()]

const leaky = defineJob({
  name: 'leaky',
  args: z.object({ token, user: z.object({ password }) }),
  redact: ['args.token'],
  retry: { attempts: 2, wait: '10ms' },
  perform({ args, log }) {
    log(`begins with ${args.token}`, {
      url: `https://x.example/?t=${encodeURIComponent(args.token)}`,
      deep: [args.user],
    })
    throw new Error(`refused ${args.token}: ${JSON.stringify(args)}`, { cause: args.token })
  },
})
const leave = defineOperation({
  name: 'leave',
  table: 'counters',
  args: z.object({ token }),
  redact: ['args.token'],
  perform({ args }) {
    throw new Error(`refused ${args.token}`)
  },
})

/** Which of these texts show the secret, in any of its forms. */
function leaks(outputs: Record<string, string>): string[] {
  const forms = [canary, JSON.stringify(canary).slice(1, -1), encodeURIComponent(canary), '5f3a']
  return Object.entries(outputs).flatMap(([name, text]) => (forms.some((form) => text.includes(form)) ? [name] : []))
}

test('a secret in args is in no output: events, logs, errors, lists, metrics, audit and command line', async () => {
  await using db = await testDatabase()
  await db.query('create table counters (id int primary key, n int not null default 0)')
  await db.query('insert into counters select generate_series(1, 10)')
  const config = { ...jobProfile(), redact: ['args.user.password'] }
  await using sluice = new Sluice({ ...config, database: db.workerUrl, jobs: [leaky], operations: [leave] })
  const events = new EventLog()
  sluice.onAny((event) => events.push(event))
  const streams = { json: new PassThrough(), text: new PassThrough() }
  for (const format of ['json', 'text'] as const) sluice.log({ stream: streams[format], format, verbose: true })
  const metrics = prometheus(sluice)
  await sluice.start()
  const job = await sluice.jobs.enqueue(leaky, { token: canary, user: { password: canary } })
  const operation = await sluice.operations.start(leave, { token: canary }, { actor: 'ada' })
  await events.event('job.died')
  await drained(db)
  await events.event('batch.quarantined')
  await sluice.operations.pause(operation.id).catch(() => undefined)
  const outputs = {
    events: JSON.stringify(events.all),
    jsonLog: String(streams.json.read()),
    textLog: String(streams.text.read()),
    job: JSON.stringify(await sluice.jobs.get(job.id)),
    jobs: JSON.stringify(await sluice.jobs.list({ states: ['dead'] })),
    operation: JSON.stringify(await sluice.operations.get(operation.id)),
    operations: JSON.stringify(await sluice.operations.list()),
    quarantine: JSON.stringify(await sluice.operations.quarantined(operation.id)),
    audit: JSON.stringify((await sluice.audit.list()).acts),
    metrics: await metrics.text(),
    storedErrors: JSON.stringify(
      await db.query(
        'select error from sluice.job_attempt union all select error from sluice.job_dead union all select error from sluice.quarantine',
      ),
    ),
  }
  expect(leaks(outputs)).toEqual([])
  // All of them speak of it: nothing here is empty by mistake.
  const speaks = Object.entries(outputs).filter(([, text]) => /leaky|leave|refused/.test(text))
  expect(speaks.map(([name]) => name)).toEqual(Object.keys(outputs))
  expect(outputs.job).toContain('[redacted]')
  expect(await db.value(`select args ->> 'token' from sluice.job_dead`)).toBe(canary)
  await sluice.stop()

  await using folder = await temporaryFolder()
  await writeFile(
    join(folder.path, 'sluice.config.ts'),
    `export default { redact: ['args.token', 'args.user.password'] }`,
  )
  const commands = [
    ['jobs', 'show', String(job.id)],
    ['jobs', 'list', '--state', 'dead'],
    ['ops', 'show', operation.id],
    ['ops', 'list'],
    ['ops', 'quarantine', operation.id],
    ['audit', 'list'],
    ['audit', 'export'],
  ]
  const shown: Record<string, string> = {}
  for (const args of commands.flatMap((one) => [one, [...one, '--json']])) {
    const { stdout, stderr } = await sluiceHere([...args, '--database', db.url], { folder: folder.path })
    shown[args.join(' ')] = stdout + stderr
  }
  expect(leaks(shown)).toEqual([])
  expect(Object.values(shown).filter((text) => !/leaky|leave|refused|counters/.test(text))).toEqual([])
})

test('a secret that looks like an id or a word of ours is masked in errors, and the job still ends as it should', async () => {
  await using db = await testDatabase()
  await using sluice = new Sluice({ ...jobProfile(), database: db.workerUrl, jobs: [leaky] })
  await db.query("select setval(pg_get_serial_sequence('sluice.job', 'id'), 41110)")
  const secrets = ['41111', 'postponed', 'retry', 'buried', 'dead']
  const jobs = await sluice.jobs.enqueueMany(
    leaky,
    secrets.map((secret) => ({ token: secret, user: { password: 'not kept' } })),
  )
  expect(jobs[0]?.id).toBe(41_111)
  await sluice.start()
  await drained(db)
  for (const { id } of jobs) {
    const { state, attempts, error } = await sluice.jobs.get(id)
    expect({ state, verdicts: attempts.map(({ verdict }) => verdict) }).toEqual({
      state: 'dead',
      verdicts: ['retry', 'dead'],
    })
    expect(error?.message).toMatch(/^refused \[redacted\]/)
  }
})
