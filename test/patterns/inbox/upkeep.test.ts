import { expect, test } from 'vitest'
import { drained, liveJobs } from '../../support/jobs.ts'
import { until } from '../../support/wait.ts'
import { ledgerDatabase, notes, place, renewals, working } from './ground.ts'
import type { TestDatabase } from '../../support/database.ts'

/** Lets messages be older than they are; in their partition, so that it must hold the day as well. */
const age = async (db: TestDatabase, by: string): Promise<void> => {
  await db.query('select sluice.create_inbox_partitions(7)')
  await db.query(`
    do $$
    declare midnight timestamp := date_trunc('day', (clock_timestamp() - interval '${by}') at time zone 'UTC');
    begin
      if to_regclass('sluice.inbox_message_' || to_char(midnight, 'YYYYMMDD')) is null then
        execute format('create table sluice.%I partition of sluice.inbox_message for values from (%L) to (%L)',
          'inbox_message_' || to_char(midnight, 'YYYYMMDD'), midnight at time zone 'UTC',
          (midnight + interval '1 day') at time zone 'UTC');
        execute format('alter table sluice.%I owner to sluice_migrator', 'inbox_message_' || to_char(midnight, 'YYYYMMDD'));
      end if;
    end $$`)
  await db.query(`
    with k as (
      update sluice.inbox_key
      set received_at = received_at - interval '${by}', expires_at = expires_at - interval '${by}')
    update sluice.inbox_message set received_at = received_at - interval '${by}'`)
  for (const table of ['job', 'job_dead']) {
    await db.query(
      `update sluice.${table} set args = args || jsonb_build_object('at', (args ->> 'at')::timestamptz - interval '${by}')`,
    )
  }
}

/** A worker that finds no partition for today keeps partitions at once, and not at some moment of its first minute. */
async function dropToday(db: TestDatabase): Promise<void> {
  await db.query(`do $$ begin
    execute 'drop table sluice.inbox_message_' || to_char(clock_timestamp() at time zone 'UTC', 'YYYYMMDD'); end $$`)
}

test('messages whose jobs were all deleted are found and processed', async () => {
  await using db = await ledgerDatabase()
  const inbox = renewals({ concurrency: { limit: 1, key: ({ id }) => id } })
  await using before = place(db, [inbox])
  for (const id of ['a', 'b', 'c']) await before.inboxes.receive(inbox, { id, cents: 5 })
  await age(db, '2 minutes')
  await before.inboxes.receive(inbox, { id: 'young', cents: 5 })
  await db.query('delete from sluice.job')
  await using at = await working(db, [inbox])
  expect(await at.events.event('inbox.healed')).toEqual({ inbox: 'renewals', messages: 3 })
  await at.events.event('inbox.processed', { nth: 3 })
  await drained(db)
  expect((await notes(db)).toSorted()).toEqual(['a 5', 'b 5', 'c 5'])
  expect(await at.inboxes.get('renewals')).toMatchObject({ waiting: 1, processed: 3 })
})

test('a message whose job is there gets no second one', async () => {
  await using db = await ledgerDatabase()
  const [kept, lost] = [renewals({ queue: 'held' }), renewals({ name: 'lost', queue: 'held' })]
  await using before = place(db, [kept, lost])
  await before.inboxes.receive(kept, { id: 'a', cents: 5 })
  await before.inboxes.receive(lost, { id: 'a', cents: 5 })
  await age(db, '2 minutes')
  await db.query(`delete from sluice.job where id = (select max(id) from sluice.job)`)
  // They are looked at in this order.
  await using at = await working(db, [kept, lost], { worker: { jobs: { queues: ['other'] } } })
  expect(await at.events.event('inbox.healed')).toEqual({ inbox: 'lost', messages: 1 })
  expect(at.events.count('inbox.healed')).toBe(1)
  expect(await liveJobs(db)).toBe(2)
})

test('a message whose job died has failed, and is processed when the job is taken up again', async () => {
  await using db = await ledgerDatabase()
  let good = false
  const inbox = renewals({
    retry: false,
    async perform({ payload, tx }) {
      await tx.query('insert into ledger (note) values ($1)', [payload.id])
      if (!good) throw new Error('no')
    },
  })
  const receipt = await (async () => {
    await using first = await working(db, [inbox])
    const { id } = await first.inboxes.receive(inbox, { id: 'a', cents: 5 })
    await first.events.event('inbox.failed')
    return id
  })()
  // As if that process had died before it could say so.
  await db.query('update sluice.inbox_key set state = 0, settled_at = null')
  await age(db, '2 minutes')
  await using at = await working(db, [inbox])
  const { jobId } = await at.events.event('inbox.failed')
  expect(await at.inboxes.find(inbox, 'a')).toMatchObject({ id: receipt, state: 'failed', jobId })
  expect(await at.inboxes.list()).toMatchObject([{ failed: 1, waiting: 0 }])
  // It comes again, and is known.
  expect(await at.inboxes.receive(inbox, { id: 'a', cents: 5 })).toMatchObject({ status: 'duplicate' })
  good = true
  await at.sluice.jobs.retry(jobId ?? 0)
  await at.events.event('inbox.processed')
  expect(await notes(db)).toEqual(['a'])
})

test('a message whose job has just died is listed as failed, not as waiting', async () => {
  await using db = await ledgerDatabase()
  const inbox = renewals({ retry: false, perform: () => Promise.reject(new Error('no')) })
  await using at = await working(db, [inbox])
  const { id: messageId } = await at.inboxes.receive(inbox, { id: 'a', cents: 5 })
  const { jobId } = await at.events.event('job.died')
  // By this upkeep would find it a minute later, and mark it then.
  await db.query('delete from sluice.job_dead')
  await until('it is marked', async () => (await at.inboxes.find(inbox, 'a'))?.state === 'failed')
  expect(await at.inboxes.get('renewals')).toMatchObject({ waiting: 0, failed: 1, oldest: [] })
  await at.events.event('inbox.failed')
  expect(at.events.payloads('inbox.failed')).toEqual([{ inbox: 'renewals', messageId, jobId }])
})

test('keys are remembered for their time, also when the payloads are gone, and then freed', async () => {
  await using db = await ledgerDatabase()
  const inbox = renewals({ keep: '30 days' })
  {
    await using at = await working(db, [inbox])
    for (const id of ['a', 'b']) await at.inboxes.receive(inbox, { id, cents: 5 })
    await at.inboxes.receive(inbox, { id: 'a', cents: 6 })
    await at.events.event('inbox.processed', { nth: 2 })
  }
  await age(db, '20 days')
  await dropToday(db)
  {
    // The payloads of that day are dropped, as history is after a week.
    await using at = await working(db, [inbox])
    await until('the day is dropped', async () => (await at.inboxes.find(inbox, 'a'))?.payload === null)
    expect(await at.inboxes.receive(inbox, { id: 'a', cents: 5 })).toMatchObject({ status: 'duplicate' })
  }
  await age(db, '11 days')
  await using at = await working(db, [inbox])
  await until('the keys are freed', () => db.value('select count(*) = 0 from sluice.inbox_key'))
  expect(await db.value('select count(*)::int from sluice.inbox_difference')).toBe(0)
  expect(await at.inboxes.receive(inbox, { id: 'a', cents: 5 })).toMatchObject({ status: 'new' })
})

test('what waits keeps its key and its payload, however old it is', async () => {
  await using db = await ledgerDatabase()
  const inbox = renewals({ queue: 'held', keep: '1 day' })
  await using before = place(db, [inbox])
  await before.inboxes.receive(inbox, { id: 'a', cents: 5 })
  await age(db, '40 days')
  await dropToday(db)
  await db.query(`insert into sluice.once_result values (gen_random_uuid(), '', 'old', null, now(), now())`)
  {
    await using at = await working(db, [inbox], { worker: { jobs: { queues: ['other'] } } })
    // One round of upkeep is over when the expired result is gone.
    await until('upkeep was done', () => db.value('select count(*) = 0 from sluice.once_result'))
    expect(await at.inboxes.find(inbox, 'a')).toMatchObject({ state: 'waiting', payload: { id: 'a', cents: 5 } })
  }
  await using at = await working(db, [inbox])
  await at.events.event('inbox.processed')
  expect(await notes(db)).toEqual(['a 5'])
})

test('a day without a partition is made by the first message of that day', async () => {
  await using db = await ledgerDatabase()
  const partitions = await db.query<{ name: string }>(
    `select inhrelid::regclass::text as name from pg_inherits where inhparent = 'sluice.inbox_message'::regclass`,
  )
  for (const { name } of partitions) await db.query(`drop table ${name}`)
  const inbox = renewals()
  await using at = place(db, [inbox])
  expect(await at.inboxes.receive(inbox, { id: 'a', cents: 5 })).toMatchObject({ status: 'new' })
})

test('an account that may only enqueue may take messages in, and not change them', async () => {
  await using db = await ledgerDatabase()
  const inbox = renewals()
  const url = new URL(db.url)
  Object.assign(url, { username: `enqueuer_${url.pathname.slice(1)}`, password: 'narrow' })
  await db.query(`create role ${url.username} login password 'narrow' in role sluice_enqueue`)
  await using at = place(db, [inbox], { database: url.href })
  expect(await at.inboxes.receive(inbox, { id: 'a', cents: 5 })).toMatchObject({ status: 'new' })
  expect(await at.sluice.once('narrow', () => 'done')).toBe('done')
  expect(await at.inboxes.list()).toMatchObject([{ waiting: 1 }])
})
