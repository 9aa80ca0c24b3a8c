import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { z } from 'zod'
import {
  defineInbox,
  defineJob,
  defineOperation,
  defineSchedule,
  planned,
  Sluice,
  sql,
  type JobDefinition,
} from '../../src/index.ts'
import { migrate } from '../../src/store/migrate.ts'
import { functionFile, parseMigration, readRelease, type Release } from '../../src/store/migrations.ts'
import { Pool } from '../../src/store/pool.ts'
import { everyHour, goBack } from '../patterns/schedules/kept.ts'
import { expirePastes, gate, pastes } from '../patterns/sweeps/pastes.ts'
import { run } from '../support/cluster.ts'
import type { TestDatabase } from '../support/database.ts'
import { EventLog } from '../support/events.ts'
import { clean, drained, jobProfile, leftovers, withLedger } from '../support/jobs.ts'
import { patiently } from '../support/patience.ts'
import { until } from '../support/wait.ts'

/** A release after this one: tables that are in use get columns, a table is new, and one function says that it is new. */
async function nextRelease(): Promise<Release> {
  const ours = await readRelease()
  const step = `-- sluice: compatible
    alter table sluice.operation add column origin text not null default 'before';
    alter table sluice.batch add column origin text not null default 'before';
    alter table sluice.job add column origin text not null default 'before';
    alter table sluice.inbox_key add column origin text not null default 'before';
    create index job_batch_origin_idx on sluice.job_batch (opened_at);
    create table sluice.novelty (id integer primary key);`
  const functions = ours.functions.map((file) => {
    const changed = file.sql.replace(
      'o.status, p_status, p_reason, p_actor',
      `o.status, p_status, 'by the next one', p_actor`,
    )
    return changed === file.sql ? file : functionFile('operations.sql', changed)
  })
  const number = ours.migrations.length + 1
  const next = parseMigration(`${String(number).padStart(4, '0')}_novelties.sql`, step)
  return { version: '99.0.0', migrations: [...ours.migrations, next], functions }
}

/** What happens around the upgrade: work goes slowly until it is over, so that the upgrade meets it. */
const upgrade = { over: false }
const slowly = (): Promise<void> => sleep(upgrade.over ? 0 : 40)

const number = z.object({ n: z.number().int() })
const noted = (name: string, more: { queue?: string } = {}): JobDefinition<{ n: number }> =>
  defineJob({
    name,
    args: number,
    transaction: true,
    ...more,
    async perform({ args, tx }) {
      await slowly()
      await tx.query('insert into ledger (note) values ($1)', [`${name} ${args.n}`])
    },
  })
const busy = noted('busy')
const waiting = noted('waiting', { queue: 'held' })
const scheduled = noted('scheduled')
const member = noted('member', { queue: 'held' })
const callback = noted('callback')
const ticking = noted('ticking')
const doomed = defineJob({
  name: 'doomed',
  args: number,
  transaction: true,
  retry: false,
  async perform({ args, tx }) {
    if (!upgrade.over) throw new Error('not yet')
    await tx.query('insert into ledger (note) values ($1)', [`doomed ${args.n}`])
  },
})
const webhooks = defineInbox({
  name: 'webhooks',
  payload: z.object({ id: z.string() }),
  key: ({ id }) => id,
  queue: 'held',
  async perform({ payload, tx }) {
    await tx.query('insert into ledger (note) values ($1)', [`webhook ${payload.id}`])
  },
})
const increment = defineOperation({
  name: 'increment',
  table: 'counters',
  batchSize: 1_000,
  subBatchSize: 25,
  lanes: 2,
  async perform({ batch }) {
    await slowly()
    return batch.update(sql`n = n + 1`)
  },
})
const hourly = defineSchedule({ name: 'hourly', cron: everyHour(), job: ticking, args: { n: 1 } })

const [rows, jobs] = [10_000, 400]
const numbered = (count: number): { n: number }[] => Array.from({ length: count }, (_, n) => ({ n }))
/** Nobody may be taken for dead because the schema changes. */
const rescues = ['batch.rescued', 'job.rescued', 'sweep.rescued'] as const

async function populated(): Promise<TestDatabase> {
  const db = await withLedger(await pastes(6))
  await db.query(`create table counters (id bigint primary key, n int not null default 0);
    insert into counters (id) select generate_series(1, ${rows});
    analyze counters;
    select sluice.create_schedule_partitions(clock_timestamp() - interval '1 hour')`)
  return db
}

/** As whoever migrates: the owner of our tables and functions, and nothing else. */
async function upgrader(db: TestDatabase): Promise<Pool> {
  await run(
    db.url,
    `do $$ begin create role test_upgrader login password 'u' in role sluice_migrator;
     exception when duplicate_object then null; end $$`,
  )
  const url = Object.assign(new URL(db.url), { username: 'test_upgrader', password: 'u' }).href
  const timeouts = { statementMs: 60_000, lockMs: patiently(15_000), idleInTransactionMs: 60_000 }
  return new Pool({ url, schema: 'sluice', purpose: 'migrate', size: 1, pooled: true, timeouts })
}

test('a newer release is applied while workers work, and all work ends rightly', { timeout: 300_000 }, async () => {
  await using db = await populated()
  const [effects, jobGate] = [gate(), gate()]
  const [swept, held]: [string[], number[]] = [[], []]
  const running = defineJob({
    name: 'running',
    args: number,
    async perform({ args }) {
      held.push(args.n)
      await jobGate.passed
      await db.query('insert into ledger (note) values ($1)', [`running ${args.n}`])
    },
  })
  const sweep = expirePastes({
    timeout: '5m',
    effect({ row }) {
      swept.push(row.short_code)
      return effects.passed
    },
  })
  const events = new EventLog()
  const worker = (): Sluice => {
    const sluice = new Sluice({
      ...jobProfile({ concurrency: 8 }, { concurrency: 2, lease: patiently(20_000), noProgress: patiently(60_000) }),
      timeouts: { statement: patiently(20_000), lock: patiently(15_000), idleInTransaction: patiently(20_000) },
      database: db.workerUrl,
      operations: [increment],
      jobs: [busy, waiting, scheduled, member, callback, ticking, doomed, running],
      schedules: [hourly],
      inboxes: [webhooks],
      sweeps: [sweep],
    })
    sluice.onAny((event) => events.push(event))
    return sluice
  }
  await using one = worker()
  await using two = worker()

  // Everything that a database of this release can hold, each in the middle of its life.
  await one.jobs.enqueueMany(waiting, numbered(30))
  await one.queues.pause('held', { actor: 'ann', reason: 'upgrade' })
  await one.start()
  await one.schedules.enable('hourly')
  await goBack(db, 'hourly', '1 hour')
  await two.start()
  const { id } = await one.operations.start(increment)
  await one.jobs.enqueueMany(running, numbered(3))
  await one.jobs.enqueue(doomed, { n: 0 })
  await one.jobs.enqueueMany(scheduled, numbered(10), { in: '1h' })
  const batch = await one.batches.run(
    numbered(20).map((args) => planned(member, args)),
    { onComplete: planned(callback, { n: 1 }) },
  )
  for (let n = 0; n < 8; n++) await one.inboxes.receive(webhooks, { id: `w${n}` })
  await one.jobs.enqueueMany(busy, numbered(jobs))
  await db.query(`insert into sluice.queue_sample_10s (queue, at, finished)
    values ('default', date_bin('10 seconds', clock_timestamp() - interval '1 minute', 'epoch'), 7)`)
  await until('the schedule has run', async () => (await notesOf(db, 'ticking')).length === 1)
  await until('all that has to be in the middle is there', async () => held.length === 3 && swept.length === 6)
  await until('one job is dead', async () => (await db.value('select count(*)::int from sluice.job_dead')) === 1)
  const dead = await db.value<number>('select id::int from sluice.job_dead')
  await until('the operation is under way', async () => (await rowsDone(db)) > 100)
  const audit = await recorded(db)

  // The upgrade.
  const pool = await upgrader(db)
  try {
    expect(await migrate(pool, await nextRelease())).toMatchObject({ applied: ['novelties', 'functions/operations'] })
  } finally {
    await pool.end()
  }
  const middle = `select (select count(*)::int from sluice.operation where status = 'active') as operations,
      (select count(*) > 50 from sluice.job j join sluice.job_class c on c.id = j.class_id
       where c.name = 'busy' and j.origin = 'before') as busy,
      (select count(*)::int from sluice.job j join sluice.job_class c on c.id = j.class_id
       where c.name = 'running') as running,
      (select count(*)::int from sluice.job j join sluice.queue q on q.id = j.queue_id where q.name = 'held') as waiting,
      (select count(*)::int from sluice.job where state = 2) as scheduled,
      (select count(*)::int from sluice.job_dead) as dead,
      (select count(*)::int from sluice.job_batch) as batches,
      (select count(*)::int from sluice.inbox_key where state = 0) as messages,
      (select count(*)::int from sluice.sweep_claim where worker_id is not null) as claims`
  expect(await db.query(middle)).toEqual([
    {
      operations: 1,
      busy: true,
      running: 3,
      waiting: 30 + 20 + 8,
      scheduled: 10,
      dead: 1,
      batches: 1,
      messages: 8,
      claims: 6,
    },
  ])
  upgrade.over = true

  // What was in the middle ends, and a worker of the release before can still begin.
  await using three = worker()
  await three.start()
  effects.open()
  jobGate.open()
  await three.jobs.retry(dead)
  await three.queues.resume('held')
  await goBack(db, 'hourly', '1 hour')
  await db.query('update sluice.job set run_at = clock_timestamp() where state = 2')
  await one.operations.wait(id, { everyMs: 50, signal: AbortSignal.timeout(patiently(120_000)) })
  await drained(db, 120_000)
  await until('the pastes are gone', async () => (await db.value('select count(*)::int from pastes')) === 1)
  await until('the callback is over', async () => (await notesOf(db, 'callback')).length === 1)
  await Promise.all([one.stop(), two.stop(), three.stop()])

  // Each row once, and with the functions of the newer release.
  expect(await db.value('select count(*)::int from counters where n <> 1')).toBe(0)
  expect(await db.query(`select status, rows_changed::int as changed from sluice.operation_history`)).toEqual([
    { status: 'finished', changed: rows },
  ])
  expect(await db.value(`select reason from sluice.transition where to_status = 'finished'`)).toBe('by the next one')
  expect(await db.value('select (select count(*) from sluice.operation) + (select count(*) from sluice.batch)')).toBe(
    '0',
  )
  // Each job, message and tick once.
  const notes = await notesOf(db)
  const all = (name: string, count: number): string[] => numbered(count).map(({ n }) => `${name} ${n}`)
  const webhookNotes = numbered(8).map(({ n }) => `webhook w${n}`)
  expect(notes.toSorted()).toEqual(
    [
      ...all('busy', jobs),
      ...all('waiting', 30),
      ...all('scheduled', 10),
      ...all('member', 20),
      ...all('running', 3),
      ...all('doomed', 1),
      ...webhookNotes,
      'callback 1',
      'ticking 1',
    ].toSorted(),
  )
  expect(
    await db.query('select count(*)::int as jobs, count(distinct id)::int as once from sluice.job_history'),
  ).toEqual([{ jobs: notes.length, once: notes.length }])
  expect(await db.value('select count(*)::int from sluice.job_dead')).toBe(0)
  expect(held.toSorted((a, b) => a - b)).toEqual([0, 1, 2])
  expect(await one.batches.get(batch.id)).toMatchObject({ state: 'succeeded', total: 20, succeeded: 20, failed: 0 })
  expect(await db.query('select state, count(*)::int from sluice.inbox_key group by 1')).toEqual([
    { state: 1, count: 8 },
  ])
  expect(await db.query('select outcome from sluice.schedule_tick')).toEqual([{ outcome: 'started' }])
  expect(swept.toSorted()).toEqual(['p1', 'p2', 'p3', 'p4', 'p5', 'p6'])
  expect(await db.value('select count(*)::int from sluice.sweep_claim')).toBe(0)
  expect(await leftovers(db)).toEqual(clean)
  expect(rescues.map((name) => events.count(name))).toEqual([0, 0, 0])
  // What was written down stays.
  expect((await recorded(db)).slice(0, audit.length)).toEqual(audit)
  expect(await db.value('select finished::int from sluice.queue_sample_10s where finished = 7 limit 1')).toBe(7)
})

const rowsDone = (db: TestDatabase): Promise<number> => db.value('select count(*)::int from counters where n = 1')

async function notesOf(db: TestDatabase, name = ''): Promise<string[]> {
  const found = await db.query<{ note: string }>('select note from ledger where starts_with(note, $1)', [name])
  return found.map(({ note }) => note)
}

const recorded = (db: TestDatabase): Promise<object[]> =>
  db.query(`select id, at, actor, source, action, target, before, after, reason from sluice.audit order by id`)
