import { afterAll, beforeAll, expect, test } from 'vitest'
import { defineOperation, sql, type OperationDefinition } from '../../src/index.ts'
import type { TestDatabase } from '../support/database.ts'
import { until } from '../support/wait.ts'
import { counters, working } from '../support/working.ts'

let db: TestDatabase
beforeAll(async () => {
  db = await counters(2_000)
})
afterAll(async () => {
  await db[Symbol.asyncDispose]()
})

/** Hours around now by the database's clock, or those on the other side of the day. */
async function hours(kind: 'open' | 'closed'): Promise<string> {
  const shift = kind === 'open' ? 0 : 12
  return db.value(
    `select to_char((now + interval '1 hour' * ($1::int - 5)) at time zone 'UTC', 'HH24:MI') || '-' ||
            to_char((now + interval '1 hour' * ($1::int + 5)) at time zone 'UTC', 'HH24:MI') || ' UTC'
     from (select clock_timestamp() as now) t`,
    [shift],
  )
}

const slowly = (name: string, window?: string): OperationDefinition<undefined> =>
  defineOperation({
    name,
    table: 'counters',
    conflicts: 'none',
    subBatchSize: 10,
    ...(window === undefined ? {} : { window }),
    async perform({ batch }) {
      await batch.query(sql`select pg_sleep(0.01)`)
      return batch.update(sql`n = n + 1`)
    },
  })

test('outside of its window an operation waits in the queue, says until when, and begins when the window opens', async () => {
  const closed = await hours('closed')
  const { sluice, events } = working(db, [slowly('at-night', closed)])
  await using _ = sluice
  const { id } = await sluice.operations.start(slowly('at-night', closed))
  await sluice.start()
  const held = await events.event('operation.held')
  expect(held.reason).toMatch(/^outside its window, until \d\d:\d\d UTC$/)
  const status = await sluice.operations.get(id)
  expect(status).toMatchObject({ state: 'queued', window: closed, rowsSeen: 0 })
  expect(status.limitedBy).toMatch(/^held for .*: outside its window, until \d\d:\d\d UTC$/)
  await sluice.operations.set(id, { window: await hours('open') })
  expect(await sluice.operations.wait(id)).toMatchObject({ state: 'finished', rowsChanged: 2_000 })
  expect(events.count('operation.held')).toBe(1)
})

test('a window that closes in mid-run holds the operation between two sub-batches; it goes on by itself', async () => {
  const definition = slowly('through-the-night', await hours('open'))
  const { sluice, events } = working(db, [definition])
  await using _ = sluice
  await sluice.start()
  const { id } = await sluice.operations.start(definition)
  await events.event('sub-batch.committed', { nth: 3 })
  await sluice.operations.set(id, { window: await hours('closed') })
  await events.event('operation.held')
  await until('the batch was given back', async () => {
    const { batches } = await sluice.operations.get(id)
    return batches.every(({ state }) => state === 'ready')
  })
  const { rowsSeen, state, reason } = await sluice.operations.get(id)
  expect({ state, reason }).toEqual({ state: 'held', reason: expect.stringMatching(/^outside its window, until/) })
  expect(rowsSeen).toBeGreaterThan(0)
  expect(rowsSeen).toBeLessThan(2_000)
  // A person’s resume does not open the window.
  await sluice.operations.resume(id)
  await events.event('operation.held', { nth: 2 })
  expect((await sluice.operations.get(id)).rowsSeen).toBe(rowsSeen)
  // The time has come.
  await db.query(`update sluice.operation set run_window = $2, hold_until = clock_timestamp() where id = $1`, [
    id,
    await hours('open'),
  ])
  expect(await sluice.operations.wait(id)).toMatchObject({ state: 'finished', rowsChanged: 2_000 })
  expect(await db.value('select count(*)::int from counters where n <> 2')).toBe(0)
})

test('the window is given at the start or taken away, and finalize does not wait for it', async () => {
  const definition = slowly('in-a-hurry', await hours('closed'))
  const { sluice } = working(db, [definition])
  await using _ = sluice
  const free = await sluice.operations.start(definition, undefined, { window: null })
  expect((await sluice.operations.get(free.id)).window).toBeNull()
  await sluice.operations.cancel(free.id)
  await expect(sluice.operations.start(definition, undefined, { window: 'at night' })).rejects.toMatchObject({
    code: 'WINDOW_INVALID',
  })
  const { id } = await sluice.operations.start(definition)
  expect(await sluice.operations.finalize(id)).toMatchObject({ state: 'finished', window: null })
})
