import { Writable } from 'node:stream'
import type { Command } from 'commander'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Output } from '../../../src/cli/output.ts'
import { createProgram } from '../../../src/cli/program.ts'
import { contract, type Route } from '../../../src/dashboard/contract.ts'
import {
  defineJob,
  defineOperation,
  defineReconciler,
  defineSchedule,
  defineSweep,
  Sluice,
  sql,
} from '../../../src/index.ts'
import { testDatabase, type TestDatabase } from '../../support/database.ts'

/**
 * Every verb that there is, and what it leaves in the audit: its action, or why it leaves nothing. A verb that is not
 * here fails the test.
 */
const looks = 'it looks'
/** The application's own work, which is there to be seen as such. */
const work = 'it is work, not an act upon work'
const here = 'it is about this process alone'

const verbs: Record<string, Record<string, string>> = {
  operations: {
    start: 'operation.start',
    startByName: 'operation.start',
    pause: 'operation.pause',
    resume: 'operation.resume',
    cancel: 'operation.cancel',
    approve: 'operation.approve',
    retry: 'operation.retry',
    set: 'operation.set',
    finalize: 'operation.set',
    disable: 'operation.disable',
    enable: 'operation.enable',
    disableAll: 'operations.disable',
    enableAll: 'operations.enable',
    plan: looks,
    get: looks,
    list: looks,
    wait: looks,
    standstill: looks,
    quarantined: looks,
  },
  tenants: { export: 'tenant.export', import: 'tenant.import' },
  jobs: {
    retry: 'job.retry',
    run: 'job.run',
    cancel: 'job.cancel',
    discard: 'job.discard',
    bulk: 'jobs.retry',
    unlock: 'job.unlock',
    enqueue: work,
    enqueueMany: work,
    enqueueIn: work,
    actOn: 'those who call it write it down',
    get: looks,
    list: looks,
    count: looks,
    failures: looks,
    locks: looks,
    wait: looks,
  },
  queues: { pause: 'queue.pause', resume: 'queue.resume', limit: 'queue.limit', list: looks },
  schedules: {
    run: 'schedule.run',
    disable: 'schedule.disable',
    enable: 'schedule.enable',
    list: looks,
    get: looks,
    ticks: looks,
    target: looks,
  },
  machines: { start: work, advance: work, list: looks, show: looks },
  reconcilers: { run: 'reconciler.run', list: looks },
  inboxes: { receive: work, refused: work, list: looks, get: looks, find: looks },
  batches: { cancel: 'batch.cancel', open: work, at: work, run: work, get: looks, list: looks },
  sweeps: { run: 'sweep.run', retry: 'sweep.retry', list: looks, get: looks, quarantined: looks },
  samples: { queues: looks, operations: looks, signals: looks, depths: looks },
  audit: { list: looks, all: looks },
  alerts: { list: looks, check: looks, judge: looks },
  sluice: {
    drain: 'worker.drain',
    beside: here,
    start: here,
    stop: here,
    on: here,
    onAny: here,
    log: here,
    migrate: 'its own table says which migrations were applied, and when',
    once: work,
    doctor: looks,
    pendingMigrations: looks,
    workers: looks,
  },
}

const commands: Record<string, string> = {
  'ops start': 'operation.start',
  'ops pause': 'operation.pause',
  'ops resume': 'operation.resume',
  'ops cancel': 'operation.cancel',
  'ops approve': 'operation.approve',
  'ops retry': 'operation.retry',
  'ops set': 'operation.set',
  'ops finalize': 'operation.set',
  'ops disable': 'operation.disable',
  'ops enable': 'operation.enable',
  'ops list': looks,
  'ops show': looks,
  'ops watch': looks,
  'ops plan': looks,
  'ops quarantine': looks,
  'jobs retry': 'job.retry',
  'jobs run': 'job.run',
  'jobs cancel': 'job.cancel',
  'jobs discard': 'job.discard',
  'jobs unlock': 'job.unlock',
  'jobs enqueue': work,
  'jobs list': looks,
  'jobs show': looks,
  'jobs locks': looks,
  'queues pause': 'queue.pause',
  'queues resume': 'queue.resume',
  'queues limit': 'queue.limit',
  'queues list': looks,
  'schedules run': 'schedule.run',
  'schedules disable': 'schedule.disable',
  'schedules enable': 'schedule.enable',
  'schedules list': looks,
  'machines list': looks,
  'machines show': looks,
  'reconcilers run': 'reconciler.run',
  'reconcilers list': looks,
  'inbox list': looks,
  'inbox show': looks,
  'batches cancel': 'batch.cancel',
  'batches list': looks,
  'batches show': looks,
  'sweeps run': 'sweep.run',
  'sweeps list': looks,
  'sweeps show': looks,
  'workers list': looks,
  'workers drain': 'worker.drain',
  'tenants export': 'tenant.export',
  'tenants import': 'tenant.import',
  'audit list': looks,
  'audit export': looks,
  demo: here,
  init: here,
  dev: here,
  migrate: 'its own table says which migrations were applied, and when',
  worker: here,
  dashboard: here,
  simulate: looks,
  doctor: looks,
  grants: looks,
}

const routes: Record<string, string> = {
  'operations.start': 'operation.start',
  'operations.pause': 'operation.pause',
  'operations.resume': 'operation.resume',
  'operations.cancel': 'operation.cancel',
  'operations.approve': 'operation.approve',
  'operations.retry': 'operation.retry',
  'operations.set': 'operation.set',
  'operations.plan': looks,
  'jobs.retry': 'job.retry',
  'jobs.run': 'job.run',
  'jobs.cancel': 'job.cancel',
  'jobs.discard': 'job.discard',
  'jobs.bulk': 'jobs.retry',
  'jobs.bulkMatching': 'jobs.retry',
  'failures.act': 'jobs.retry',
  'failures.bulk': 'jobs.retry',
  'workers.drain': 'worker.drain',
  'queues.pause': 'queue.pause',
  'queues.resume': 'queue.resume',
  'queues.limit': 'queue.limit',
  'schedules.run': 'schedule.run',
  'schedules.disable': 'schedule.disable',
  'schedules.enable': 'schedule.enable',
  'batches.cancel': 'batch.cancel',
}

const isAction = (text: string): boolean => /^[a-z]+\.[a-z]+$/.test(text)
const noop = defineJob({ name: 'noop', queue: 'mail', unique: { key: () => 'k' }, perform: () => undefined })
const count = defineOperation({
  name: 'count',
  table: 'counters',
  perform: ({ batch }) => batch.update(sql`n = n + 1`),
})
const asked = defineOperation({
  name: 'asked',
  table: 'counters',
  approval: true,
  conflicts: 'none',
  perform: ({ batch }) => batch.delete(),
})
const nightly = defineSchedule({ name: 'nightly', cron: '0 3 * * *', job: noop })
const clean = defineSweep<{ id: number }>({
  name: 'clean',
  table: 'counters',
  key: 'id',
  due: sql`false`,
  claim: 'table',
})
const forgotten = defineReconciler({
  name: 'forgotten',
  find: { table: 'counters', where: sql`false`, olderThan: '1h', by: 'at' },
  job: noop,
  args: () => undefined,
  every: '1h',
})
const methodsOf = (object: object): string[] => {
  const all = Object.entries(Object.getOwnPropertyDescriptors(Object.getPrototypeOf(object)))
  return all.flatMap(([name, { value }]) => (typeof value === 'function' && name !== 'constructor' ? [name] : []))
}
const ada = { actor: 'ada', source: 'cli', reason: 'because' } as const

describe('every verb is audited, or said not to be', () => {
  let db: TestDatabase
  let sluice: Sluice

  beforeAll(async () => {
    db = await testDatabase()
    await db.query('create table counters (id int primary key, n int not null default 0, at timestamptz default now())')
    await db.query('insert into counters select generate_series(1, 100)')
    const definitions = { operations: [count, asked], schedules: [nightly], sweeps: [clean], reconcilers: [forgotten] }
    sluice = new Sluice({ database: db.url, jobs: [noop], ...definitions })
  })
  afterAll(async () => {
    await sluice.stop()
    await db[Symbol.asyncDispose]()
  })

  const later = async (): Promise<number> => {
    await db.query('truncate sluice.job_lock')
    return (await sluice.jobs.enqueue(noop, undefined, { in: '1h' })).id
  }
  const ended = async (): Promise<number> => {
    const id = await later()
    await sluice.jobs.discard(id)
    return id
  }
  const operation = async (): Promise<string> => (await sluice.operations.start(count)).id
  const paused = async (): Promise<string> => (await sluice.operations.pause(await operation())).id

  const drainWorker = async (): Promise<unknown> => {
    const id = '00000000-0000-7000-8000-000000000001'
    await db.query(
      `insert into sluice.worker (id, host, pid, version, operations, jobs, queues, concurrency, sweeps)
       values ($1, 'here', 1, '1', '{}', '{}', '{}', 1, '{}')`,
      [id],
    )
    return sluice.drain(id, ada)
  }

  const acts: Record<string, () => Promise<unknown>> = {
    'operations.start': () => sluice.operations.start(count, undefined, ada),
    'operations.startByName': () => sluice.operations.startByName('asked', undefined, ada),
    'operations.pause': async () => sluice.operations.pause(await operation(), ada),
    'operations.resume': async () => sluice.operations.resume(await paused(), ada),
    'operations.retry': async () => sluice.operations.retry(await operation(), ada),
    'operations.set': async () => sluice.operations.set(await operation(), { pace: 0.5 }, ada),
    'operations.cancel': async () => sluice.operations.cancel(await operation(), ada),
    'operations.approve': async () => sluice.operations.approve((await sluice.operations.start(asked)).id, ada),
    'operations.finalize': async () => sluice.operations.finalize(await operation(), ada),
    'operations.disable': () => sluice.operations.disable('count', ada),
    'operations.enable': () => sluice.operations.enable('count', ada),
    'operations.disableAll': () => sluice.operations.disableAll(ada),
    'operations.enableAll': () => sluice.operations.enableAll(ada),
    'tenants.export': () => sluice.tenants.export('acme', ada),
    'tenants.import': () => sluice.tenants.import({ version: 1, tenant: 'acme', operations: [] }, ada),
    'jobs.retry': async () => sluice.jobs.retry(await ended(), ada),
    'jobs.run': async () => sluice.jobs.run(await later(), ada),
    'jobs.cancel': async () => sluice.jobs.cancel(await later(), ada),
    'jobs.discard': async () => sluice.jobs.discard(await later(), ada),
    'jobs.bulk': () => sluice.jobs.bulk('retry', { states: ['dead'] }, ada),
    'jobs.unlock': async () => (await later(), sluice.jobs.unlock('noop', 'k', ada)),
    'queues.pause': () => sluice.queues.pause('mail', ada),
    'queues.resume': () => sluice.queues.resume('mail', ada),
    'queues.limit': () => sluice.queues.limit('mail', { limit: 1, per: '1s' }, ada),
    'schedules.disable': () => sluice.schedules.disable('nightly', ada),
    'schedules.enable': () => sluice.schedules.enable('nightly', ada),
    'schedules.run': () => sluice.schedules.run('nightly', ada),
    'reconcilers.run': () => sluice.reconcilers.run('forgotten', ada),
    'batches.cancel': async () => sluice.batches.cancel((await sluice.batches.open()).id, ada),
    'sweeps.run': () => sluice.sweeps.run('clean', ada),
    'sweeps.retry': async () => {
      await db.query(`insert into sluice.sweep_claim (sweep, key, generation, nonce, quarantined_at)
        values ('clean', '{1}', gen_random_uuid(), gen_random_uuid(), now())`)
      return sluice.sweeps.retry('clean', [1], ada)
    },
    'sluice.drain': drainWorker,
  }
  const audited = Object.entries(verbs).flatMap(([noun, of]) =>
    Object.entries(of).flatMap(([verb, action]) => (isAction(action) ? [[`${noun}.${verb}`, action] as const] : [])),
  )

  test.each(audited)('%s', async (verb, action) => {
    const [last] = (await sluice.audit.list({ limit: 1 })).acts
    await acts[verb]?.()
    const { acts: found } = await sluice.audit.list({ ...ada, action })
    expect(found.filter(({ id }) => id > (last?.id ?? 0))).toMatchObject([{ ...ada, action }])
  })

  test('no verb of the API is missing here', () => {
    const { operations, tenants, jobs, queues, schedules, machines, reconcilers, inboxes } = sluice
    const { batches, sweeps, samples, audit, alerts } = sluice
    const nouns = { operations, tenants, jobs, queues, schedules, machines, reconcilers, inboxes }
    const all: object = { ...nouns, batches, sweeps, samples, audit, alerts, sluice }
    const there = Object.entries(sluice).flatMap(([name, value]) => (typeof value === 'object' ? [name] : []))
    expect(Object.keys(all)).toEqual(expect.arrayContaining(there))
    const found = Object.entries(all).map(([noun, object]) => [noun, methodsOf(object as object).toSorted()])
    const known = Object.entries(verbs).map(([noun, of]) => [noun, Object.keys(of).toSorted()])
    expect(Object.fromEntries(known)).toEqual(Object.fromEntries(found))
    expect(Object.keys(acts).toSorted()).toEqual(audited.map(([verb]) => verb).toSorted())
  })
})

test('no command is missing here, and each that is audited takes who does it', async () => {
  const nowhere = new Writable()
  const plain = { json: false, colour: false, quiet: true, verbose: false }
  const output = new Output({ stdout: nowhere, stderr: nowhere, env: {}, ...plain })
  const program = await createProgram({ output, signal: new AbortController().signal, env: {}, folder: '.' })
  const leaves = (command: Command, path: string[]): [string, string[]][] =>
    command.commands.length === 0
      ? [[path.join(' '), command.options.map(({ long }) => long ?? '')]]
      : command.commands.flatMap((one) => leaves(one, [...path, one.name()]))
  const found = new Map(leaves(program, []))
  expect([...found.keys()].toSorted()).toEqual(Object.keys(commands).toSorted())
  const anonymous = [...found].filter(([name, flags]) => isAction(commands[name] ?? '') && !flags.includes('--actor'))
  expect(anonymous).toEqual([])
})

test('no route that changes something is missing here, and each takes a reason', () => {
  const changing = Object.entries(contract as Record<string, Route>).filter(([, { method }]) => method === 'POST')
  expect(changing.map(([name]) => name).toSorted()).toEqual(Object.keys(routes).toSorted())
  const wordless = changing.filter(([name, { body }]) => isAction(routes[name] ?? '') && body?.['reason'] === undefined)
  expect(wordless).toEqual([])
})
