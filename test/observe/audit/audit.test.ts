import { describe, expect, test } from 'vitest'
import { csvLine, defineJob, defineOperation, defineSchedule, Sluice, sql, type AuditRow } from '../../../src/index.ts'
import { testDatabase, type TestDatabase } from '../../support/database.ts'
import { openClient } from '../../support/jobs.ts'

const noop = defineJob({ name: 'noop', queue: 'mail', perform: () => undefined })
const addOne = defineOperation({
  name: 'count',
  table: 'counters',
  perform: ({ batch }) => batch.update(sql`n = n + 1`),
})
const nightly = defineSchedule({ name: 'nightly', cron: '0 3 * * *', job: noop })
const ada = { actor: 'ada', source: 'cli', reason: 'because' } as const

async function place(): Promise<{ db: TestDatabase; sluice: Sluice } & AsyncDisposable> {
  const db = await testDatabase()
  await db.query('create table counters (id int primary key, n int not null default 0)')
  await db.query('insert into counters select generate_series(1, 100)')
  const config = { operations: [addOne], jobs: [noop], schedules: [nightly] }
  const sluice = new Sluice({ database: db.workerUrl, ...config })
  const close = async (): Promise<void> => {
    await sluice.stop()
    await db[Symbol.asyncDispose]()
  }
  return { db, sluice, [Symbol.asyncDispose]: close }
}

const short = ({ actor, source, action, target, before, after, reason }: AuditRow): unknown[] => [
  actor,
  source,
  action,
  target,
  before,
  after,
  reason,
]

describe('each act of a person is one row', () => {
  test('on operations', async () => {
    await using at = await place()
    const { operations, audit } = at.sluice
    const { id } = await operations.start(addOne, undefined, { ...ada })
    await operations.pause(id, ada)
    await operations.pause(id, ada)
    await operations.resume(id, ada)
    await operations.set(id, { pace: 0.5, lanes: 3 }, ada)
    await operations.cancel(id, ada)
    await operations.disable('count', ada)
    await operations.enable('count', ada)
    await operations.enable('count', ada)
    const { acts } = await audit.list({ action: 'operation' })
    expect(acts.map(short).toReversed()).toEqual([
      [
        'ada',
        'cli',
        'operation.start',
        id,
        null,
        { name: 'count', table: 'public.counters', tenant: null, status: 'queued', login: 'test_worker' },
        'because',
      ],
      ['ada', 'cli', 'operation.pause', id, { status: 'queued' }, { status: 'paused' }, 'because'],
      ['ada', 'cli', 'operation.resume', id, { status: 'paused' }, { status: 'queued' }, 'because'],
      ['ada', 'cli', 'operation.set', id, { pace: 1, lanes: 1 }, { pace: 0.5, lanes: 3 }, 'because'],
      ['ada', 'cli', 'operation.cancel', id, { status: 'queued' }, { status: 'cancelled' }, 'because'],
      ['ada', 'cli', 'operation.disable', 'count', { enabled: true }, { enabled: false }, 'because'],
      ['ada', 'cli', 'operation.enable', 'count', { enabled: false }, { enabled: true }, 'because'],
    ])
    await expect(operations.resume(id, ada)).rejects.toMatchObject({ code: 'OPERATION_STATE' })
    expect((await audit.list()).acts).toHaveLength(7)
  })

  test('on jobs, queues, keys and schedules', async () => {
    await using at = await place()
    const { jobs, queues, schedules, audit } = at.sluice
    const { id } = await jobs.enqueue(noop, undefined, { in: '1h' })
    await jobs.run(id, ada)
    await jobs.discard(id, ada)
    await jobs.retry(id, ada)
    await jobs.cancel(id, ada)
    await expect(jobs.run(id, ada)).rejects.toMatchObject({ code: 'JOB_STATE' })
    const bulk = await jobs.bulk('retry', { states: ['cancelled'] }, ada)
    await queues.pause('mail', ada)
    await queues.resume('mail', ada)
    await queues.limit('mail', { limit: 5, per: '1s' }, ada)
    await expect(queues.pause('mial', ada)).rejects.toMatchObject({ code: 'QUEUE_NOT_FOUND' })
    expect(await jobs.unlock('noop', 'x', ada)).toBe(false)
    await schedules.disable('nightly', ada)
    await schedules.enable('nightly', ada)
    const { jobId } = await schedules.run('nightly', ada)
    const { acts } = await audit.list()
    expect(acts.map((act) => short(act).slice(2, 6)).toReversed()).toEqual([
      ['job.run', String(id), { state: 'scheduled' }, { state: 'waiting' }],
      ['job.discard', String(id), { state: 'waiting' }, { state: 'discarded' }],
      ['job.retry', String(id), { state: 'discarded' }, { state: 'waiting' }],
      ['job.cancel', String(id), { state: 'waiting' }, { state: 'cancelled' }],
      ['jobs.retry', String(bulk.id), null, { query: { states: ['cancelled'] } }],
      ['queue.pause', 'mail', { paused: false }, { paused: true }],
      ['queue.resume', 'mail', { paused: true }, { paused: false }],
      ['queue.limit', 'mail', { limit: null, perMs: null }, { limit: 5, perMs: 1_000 }],
      ['schedule.disable', 'nightly', { enabled: true }, { enabled: false }],
      ['schedule.enable', 'nightly', { enabled: false }, { enabled: true }],
      ['schedule.run', 'nightly', null, { jobId, operationId: null }],
    ])
    expect(new Set(acts.map(({ actor, source, reason }) => `${actor} ${source} ${reason}`))).toEqual(
      new Set(['ada cli because']),
    )
  })
})

test('an act and its row commit together or not at all', async () => {
  await using at = await place()
  const client = await openClient(at.db.url)
  await client.query('begin')
  const { id } = await at.sluice.operations.start(addOne, undefined, { tx: client, actor: 'ada' })
  await client.query('rollback')
  await client.end()
  expect((await at.sluice.audit.list()).acts).toEqual([])
  // Whoever cannot write the row cannot act.
  await at.sluice.jobs.enqueue(noop)
  await at.db.query('revoke execute on function sluice.record_act from sluice_worker')
  await expect(at.sluice.queues.pause('mail')).rejects.toMatchObject({ code: 'PERMISSION_DENIED' })
  expect(await at.db.value('select paused from sluice.queue')).toBe(false)
  await expect(at.sluice.operations.get(id)).rejects.toMatchObject({ code: 'OPERATION_NOT_FOUND' })
})

test('nobody changes or removes a row, neither a worker nor the owner', async () => {
  await using at = await place()
  await at.sluice.jobs.enqueue(noop)
  await at.sluice.queues.pause('mail')
  const client = await openClient(at.db.workerUrl)
  for (const text of [
    `update sluice.audit set actor = 'x'`,
    'delete from sluice.audit',
    'truncate sluice.audit',
    `insert into sluice.audit (source, action, target) values ('api', 'x', 'y')`,
  ]) {
    await expect(client.query(text), text).rejects.toMatchObject({ code: '42501' })
    if (!text.startsWith('insert')) await expect(at.db.query(text), text).rejects.toThrow(/written once/)
  }
  await client.end()
  expect((await at.sluice.audit.list()).acts).toHaveLength(1)
})

test('odd texts of people do not keep them from acting', async () => {
  await using at = await place()
  await at.sluice.jobs.enqueue(noop)
  const odd = 'a\0b \uD800 c'
  await at.sluice.queues.pause('mail', { actor: odd, reason: odd.repeat(2_000) })
  const { acts } = await at.sluice.audit.list()
  expect(acts.map(({ action, actor }) => [action, actor])).toEqual([['queue.pause', 'a\uFFFDb \uFFFD c']])
})

test('lists go page by page and by filter', async () => {
  await using at = await place()
  await at.sluice.jobs.enqueue(noop)
  for (let n = 0; n < 5; n++) {
    await at.sluice.queues.pause('mail', { actor: `p${n % 2}` })
    await at.sluice.queues.resume('mail', { source: 'dashboard' })
  }
  const first = await at.sluice.audit.list({ limit: 4 })
  const second = await at.sluice.audit.list({ limit: 100, before: first.next })
  expect([first.acts.length, second.acts.length, second.next]).toEqual([4, 6, null])
  const numberOf = async (query: Parameters<typeof at.sluice.audit.list>[0]): Promise<number> =>
    (await at.sluice.audit.list(query)).acts.length
  expect(await numberOf({ actor: 'p0' })).toBe(3)
  expect(await numberOf({ source: 'dashboard' })).toBe(5)
  expect(await numberOf({ action: 'queue.pause' })).toBe(5)
  expect(await numberOf({ action: 'queue' })).toBe(10)
  expect(await numberOf({ action: 'que' })).toBe(0)
  expect(await numberOf({ target: "mail' or true" })).toBe(0)
  expect(await numberOf({ since: new Date(Date.now() + 86_400_000) })).toBe(0)
  let all = 0
  for await (const _ of at.sluice.audit.all({ target: 'mail' })) all += 1
  expect(all).toBe(10)
})

test('a line of CSV is no formula and keeps its quotes', () => {
  const row: AuditRow = {
    id: 7,
    at: new Date('2026-01-02T03:04:05Z'),
    actor: '=cmd()',
    source: 'cli',
    action: 'queue.pause',
    target: 'a,"b"',
    before: null,
    after: { paused: true },
    reason: '+1',
  }
  expect(csvLine(row)).toBe(
    `7,"2026-01-02T03:04:05.000Z","'=cmd()","cli","queue.pause","a,""b""",,"{""paused"":true}","'+1"`,
  )
})
