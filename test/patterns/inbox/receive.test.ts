import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { cancel, defineInbox, snooze } from '../../../src/index.ts'
import { drained, liveJobs, openClient } from '../../support/jobs.ts'
import { isWaiting } from '../../support/locks.ts'
import { until } from '../../support/wait.ts'
import { ledgerDatabase, notes, place, renewals, signal, working } from './ground.ts'

test('a message is processed once, however often it comes', async () => {
  await using db = await ledgerDatabase()
  const inbox = renewals()
  await using at = await working(db, [inbox])
  const first = await at.inboxes.receive(inbox, { id: 'a', cents: 5 })
  expect(first).toMatchObject({ status: 'new', differs: false })
  expect(await at.inboxes.receive(inbox, { id: 'a', cents: 5 })).toEqual({
    status: 'duplicate',
    id: first.id,
    differs: false,
  })
  expect(await at.events.event('inbox.processed')).toMatchObject({ inbox: 'renewals', key: 'a', messageId: first.id })
  expect(await at.inboxes.receive(inbox, { cents: 5, id: 'a' })).toMatchObject({ status: 'duplicate', differs: false })
  await drained(db)
  expect(await notes(db)).toEqual(['a 5'])
  expect(at.events.count('inbox.received')).toBe(1)
  expect(at.events.count('inbox.duplicate')).toBe(2)
  expect(await at.inboxes.find(inbox, 'a')).toMatchObject({ state: 'processed', payload: { id: 'a', cents: 5 } })
})

test('the mark and the effect commit in one transaction', async () => {
  await using db = await ledgerDatabase()
  const inbox = renewals()
  await using at = await working(db, [inbox])
  await at.inboxes.receive(inbox, { id: 'a', cents: 5 })
  await at.events.event('inbox.processed')
  const marked = await db.value('select xmin::text from sluice.inbox_key')
  expect(await db.value('select xmin::text from ledger')).toBe(marked)
  expect(await db.value('select xmin::text from sluice.job_history')).toBe(marked)
})

test('of many deliveries at once, by several processes, one is new', async () => {
  await using db = await ledgerDatabase()
  const inbox = renewals()
  await using one = place(db, [inbox])
  await using other = place(db, [inbox])
  const deliveries = Array.from({ length: 40 }, (_, i) =>
    (i % 2 === 0 ? one : other).inboxes.receive(inbox, { id: `n${i % 4}`, cents: 1 }),
  )
  const receipts = await Promise.all(deliveries)
  expect(receipts.filter(({ status }) => status === 'new')).toHaveLength(4)
  expect(new Set(receipts.map(({ id }) => id)).size).toBe(4)
  expect(await liveJobs(db)).toBe(4)
  expect(await db.value('select count(*)::int from sluice.inbox_message')).toBe(4)
})

test('another payload under a known key is answered as duplicate, kept, and told', async () => {
  await using db = await ledgerDatabase()
  const inbox = renewals()
  await using at = await working(db, [inbox])
  const { id } = await at.inboxes.receive(inbox, { id: 'a', cents: 5 })
  for (const cents of [6, 6, 7]) {
    expect(await at.inboxes.receive(inbox, { id: 'a', cents })).toEqual({ status: 'duplicate', id, differs: true })
  }
  expect(await at.events.event('inbox.differed')).toEqual({ inbox: 'renewals', messageId: id, key: 'a' })
  expect(at.events.count('inbox.differed')).toBe(3)
  expect(await at.inboxes.find(inbox, 'a')).toMatchObject({ differing: 2 })
  expect((await at.inboxes.list())[0]).toMatchObject({ name: 'renewals', differing: 2 })
  await drained(db)
  expect(await notes(db)).toEqual(['a 5'])
})

test('in one statement the first delivery of a key wins', async () => {
  await using db = await ledgerDatabase()
  const inbox = renewals()
  await using at = place(db, [inbox])
  await at.inboxes.receive(inbox, { id: 'warm', cents: 1 })
  const receipts = await Promise.all([1, 2, 1].map((cents) => at.inboxes.receive(inbox, { id: 'a', cents })))
  expect(receipts.map(({ status, differs }) => [status, differs])).toEqual([
    ['new', false],
    ['duplicate', true],
    ['duplicate', false],
  ])
})

describe('what is refused', () => {
  const payloads = {
    'that does not fit the schema': { id: 'a', cents: 'five' },
    'that is no object': null,
    'that cannot be stored': { id: 'a\0', cents: 5 },
    'that is too large': { id: 'a', cents: 5, more: 'x'.repeat(300_000) },
    'with an empty key': { id: '', cents: 5 },
  }
  test(`a payload ${Object.keys(payloads).join(', or ')}, before anything is written`, async () => {
    await using db = await ledgerDatabase()
    const inbox = renewals()
    await using at = place(db, [inbox])
    for (const payload of Object.values(payloads)) {
      await expect(at.inboxes.receive(inbox, payload as never)).rejects.toMatchObject({ code: 'PAYLOAD_INVALID' })
    }
    expect(await db.value('select count(*)::int from sluice.inbox_key')).toBe(0)
    expect(await liveJobs(db)).toBe(0)
  })

  test.each([
    ['an unknown option', { keeps: '5d' }, 'Did you mean "keep"?'],
    ['a name with blanks', { name: 'a b' }, 'name must start with a letter'],
    ['no schema', { payload: {} }, '"payload" must be a schema'],
    ['a time that is none', { keep: 'long' }, '"keep" must be a time'],
    ['a limit of none', { concurrency: { limit: 0, key: () => 'x' } }, '"concurrency.limit"'],
    ['a handler that is none', { perform: 5 }, '"perform" must be a function'],
  ])('a definition with %s', (_, wrong, message) => {
    expect(() => renewals(wrong as never)).toThrowError(message)
  })

  test('two inboxes of one name', async () => {
    await using db = await ledgerDatabase()
    expect(() => place(db, [renewals(), renewals()])).toThrowError('Two inboxes are named "renewals"')
  })
})

test('in a transaction of the caller it is there when that commits', async () => {
  await using db = await ledgerDatabase()
  const inbox = renewals()
  await using at = place(db, [inbox])
  await using client = await openClient(db.workerUrl)
  await client.query('begin')
  expect(await at.inboxes.receive(inbox, { id: 'a', cents: 5 }, { tx: client })).toMatchObject({ status: 'new' })
  await client.query('rollback')
  expect(await at.inboxes.find(inbox, 'a')).toBeUndefined()
  await client.query('begin')
  await at.inboxes.receive(inbox, { id: 'a', cents: 5 }, { tx: client })
  // Another delivery waits for the end of that transaction, and then knows.
  const other = at.inboxes.receive(inbox, { id: 'a', cents: 5 })
  await until('it waits', () => isWaiting(db))
  await client.query('commit')
  expect(await other).toMatchObject({ status: 'duplicate' })
  expect(await liveJobs(db)).toBe(1)
})

test('it is the unique index that decides: without it, two at once would both be new', async () => {
  await using db = await ledgerDatabase()
  const inbox = renewals()
  await using at = place(db, [inbox])
  await at.inboxes.receive(inbox, { id: 'warm', cents: 1 })
  await db.query('alter table sluice.inbox_key drop constraint inbox_key_pkey')
  await using client = await openClient(db.workerUrl)
  await client.query('begin')
  expect(await at.inboxes.receive(inbox, { id: 'a', cents: 5 }, { tx: client })).toMatchObject({ status: 'new' })
  expect(await at.inboxes.receive(inbox, { id: 'a', cents: 5 })).toMatchObject({ status: 'new' })
  await client.query('rollback')
})

test('a delivery does not wait for the handler that works on its key', async () => {
  await using db = await ledgerDatabase()
  const [begun, go] = [signal(), signal()]
  const inbox = renewals({
    async perform({ payload, tx }) {
      await tx.query('insert into ledger (note) values ($1)', [payload.id])
      begun.give()
      await go.given
    },
  })
  await using at = await working(db, [inbox])
  await at.inboxes.receive(inbox, { id: 'a', cents: 5 })
  await begun.given
  expect(await at.inboxes.receive(inbox, { id: 'a', cents: 5 })).toMatchObject({ status: 'duplicate' })
  expect(await at.inboxes.receive(inbox, { id: 'a', cents: 6 })).toMatchObject({ status: 'duplicate', differs: true })
  expect(await notes(db)).toEqual([])
  go.give()
  await at.events.event('inbox.processed')
  expect(await notes(db)).toEqual(['a'])
})

test('a key of several parts, and one that the source gives beside the payload', async () => {
  await using db = await ledgerDatabase()
  const pair = defineInbox({
    name: 'pair',
    payload: z.object({ a: z.string(), b: z.string() }),
    key: ({ a, b }) => [a, b],
    perform: () => undefined,
  })
  const keyless = defineInbox({ name: 'keyless', payload: z.object({}), perform: () => undefined })
  await using at = place(db, [pair, keyless])
  expect(await at.inboxes.receive(pair, { a: 'x:y', b: 'z' })).toMatchObject({ status: 'new' })
  expect(await at.inboxes.receive(pair, { a: 'x', b: 'y:z' })).toMatchObject({ status: 'new' })
  expect(await at.inboxes.find(pair, ['x', 'y:z'])).toMatchObject({ key: 'x:y:z', state: 'waiting' })
  await expect(at.inboxes.receive(keyless, {})).rejects.toMatchObject({ code: 'PAYLOAD_INVALID' })
  expect(await at.inboxes.receive(keyless, {}, { key: 'delivery-1' })).toMatchObject({ status: 'new' })
  expect(await at.inboxes.receive(keyless, {}, { key: 'delivery-1' })).toMatchObject({ status: 'duplicate' })
})

describe('a handler', () => {
  test('that throws takes its changes and the mark back, and is tried again', async () => {
    await using db = await ledgerDatabase()
    const inbox = renewals({
      async perform({ payload, tx, job }) {
        await tx.query('insert into ledger (note) values ($1)', [`${payload.id} ${job.attempt}`])
        if (job.attempt < 3) throw new Error('not yet')
      },
    })
    await using at = await working(db, [inbox])
    await at.inboxes.receive(inbox, { id: 'a', cents: 5 })
    await at.events.event('inbox.processed')
    expect(await notes(db)).toEqual(['a 3'])
    expect(at.events.count('job.retried')).toBe(2)
  })

  test('that snoozes leaves the message waiting; one that cancels gives it up', async () => {
    await using db = await ledgerDatabase()
    const inbox = renewals({
      async perform({ payload, tx }) {
        await tx.query('insert into ledger (note) values ($1)', [payload.id])
        if (payload.id === 'c') return cancel('not ours')
        return (await tx.query('select from ledger', [])).rows.length < 2 ? snooze(20) : undefined
      },
    })
    await using at = await working(db, [inbox])
    await at.inboxes.receive(inbox, { id: 's', cents: 5 })
    await at.events.event('inbox.processed')
    expect(await notes(db)).toEqual(['s', 's'])
    expect(at.events.count('job.snoozed')).toBe(1)
    await at.inboxes.receive(inbox, { id: 'c', cents: 5 })
    await at.events.event('job.cancelled')
    expect(await at.inboxes.find(inbox, 'c')).toMatchObject({ state: 'failed' })
    expect(at.events.count('inbox.processed')).toBe(1)
  })

  test('whose definition has changed is not tried in vain', async () => {
    await using db = await ledgerDatabase()
    await using before = place(db, [renewals()])
    await before.inboxes.receive(renewals(), { id: 'a', cents: 5 })
    const stricter = defineInbox({ name: 'renewals', payload: z.object({ id: z.number() }), perform: () => undefined })
    await using at = await working(db, [stricter])
    expect(await at.events.event('job.died')).toMatchObject({ name: 'inbox.renewals', error: { name: 'MessageUnfit' } })
    expect(at.events.count('job.retried')).toBe(0)
  })

  test('runs so many at once of a key, in the order of arrival', async () => {
    await using db = await ledgerDatabase()
    let [now, most] = [0, 0]
    const inbox = renewals({
      concurrency: { limit: 1, key: ({ id }) => `account:${id.slice(0, 1)}` },
      async perform({ payload, tx }) {
        most = Math.max(most, (now += 1))
        await tx.query('insert into ledger (note) values ($1)', [payload.id])
        await tx.query('select pg_sleep(0.02)', [])
        now -= 1
      },
    })
    await using at = await working(db, [inbox])
    for (const n of [1, 2, 3, 4]) await at.inboxes.receive(inbox, { id: `a${n}`, cents: n })
    await drained(db)
    expect(most).toBe(1)
    expect(await notes(db)).toEqual(['a1', 'a2', 'a3', 'a4'])
  })
})

test('an inbox that nobody works on here can be looked at', async () => {
  await using db = await ledgerDatabase()
  const inbox = renewals()
  await using at = place(db, [])
  for (const id of ['a', 'b']) await at.inboxes.receive(inbox, { id, cents: 5 })
  expect(await at.inboxes.list()).toMatchObject([
    { name: 'renewals', waiting: 2, processed: 0, failed: 0, more: false },
  ])
  const found = await at.inboxes.get('renewals')
  expect(found.oldest.map(({ key, state }) => [key, state])).toEqual([
    ['a', 'waiting'],
    ['b', 'waiting'],
  ])
  expect(found.oldestMs).toBeGreaterThanOrEqual(0)
  await expect(at.inboxes.get('renewal')).rejects.toMatchObject({ code: 'INBOX_NOT_FOUND' })
})

test('works in a schema of another name', async () => {
  await using db = await ledgerDatabase()
  const inbox = renewals()
  await using at = place(db, [inbox], { database: db.url, schema: 'billing' })
  await at.sluice.migrate()
  await at.sluice.start()
  await at.inboxes.receive(inbox, { id: 'a', cents: 5 })
  await at.events.event('inbox.processed')
  expect(await db.value('select count(*)::int from billing.inbox_key where state = 1')).toBe(1)
})
