import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import {
  defineOperation,
  finalStates,
  type Sluice,
  sql,
  transitions,
  verbs,
  type OperationDefinition,
  type OperationState,
  type OperationVerb,
} from '../../src/index.ts'
import { Registry } from '../../src/runtime/registry.ts'
import { Belonging } from '../../src/operations/belonging.ts'
import { Cuts } from '../../src/operations/cuts.ts'
import { postgresTarget } from '../../src/targets/postgres/target.ts'
import { takeBatch } from '../../src/operations/take.ts'
import { uuidv7 } from '../../src/std/uuid.ts'
import { rescue } from '../../src/store/batches.ts'
import type { StoreConnection } from '../../src/store/connection.ts'
import { openDatabase, type Database } from '../../src/store/database.ts'
import { Telemetry } from '../../src/telemetry/telemetry.ts'
import type { TestDatabase } from '../support/database.ts'
import { patiently } from '../support/patience.ts'
import { until } from '../support/wait.ts'
import { testProfile } from '../support/worker.ts'
import { addRows, counters, working } from '../support/working.ts'
import { ungoverned } from '../support/ungoverned.ts'

/** A door that work waits at until the test opens it. */
function gate(): { opened: Promise<void>; open: () => void } {
  const door = new AbortController()
  const opened = new Promise<void>((resolve) => {
    door.signal.addEventListener('abort', () => resolve())
  })
  return { opened, open: () => door.abort() }
}

const shape = { name: 'count', table: 'counters', batchSize: 200, subBatchSize: 50 } as const
const addOne = defineOperation({ ...shape, perform: ({ batch }) => batch.update(sql`n = n + 1`) })
const slowly = defineOperation({
  ...shape,
  async perform({ batch }) {
    await sleep(20)
    return batch.update(sql`n = n + 1`)
  },
})
const wrong = (db: TestDatabase): Promise<number> => db.value('select count(*)::int from counters where n <> 1')
const counted = (db: TestDatabase): Promise<number> => db.value('select count(*)::int from counters where n = 1')
const running = (db: TestDatabase): Promise<number> =>
  db.value(`select count(*)::int from sluice.batch where state = 'running'`)
const asStore = (db: TestDatabase): StoreConnection => ({
  schema: 'sluice',
  async query(text, values) {
    const rows = await db.query<Record<string, unknown>>(text, values)
    return { rows, rowCount: rows.length }
  },
})

/** Every recorded change of status must be one that the table of states knows. */
async function strangeTransitions(db: TestDatabase): Promise<string[]> {
  const rows = await db.query<{ from_status: OperationState; to_status: string }>(
    `select distinct from_status, to_status from sluice.transition where from_status is not null`,
  )
  return rows
    .filter(({ from_status, to_status }) => !(to_status in transitions[from_status]))
    .map(({ from_status, to_status }) => `${from_status} -> ${to_status}`)
}

const shared = defineOperation({ ...shape, conflicts: 'none', perform: ({ batch }) => batch.update(sql`n = n + 1`) })
const already: Partial<Record<OperationVerb, OperationState[]>> = {
  pause: ['paused', 'pausing'],
  resume: ['queued', 'active', 'verifying'],
  approve: ['queued', 'active', 'verifying'],
  cancel: ['cancelling', 'cancelled'],
  finalize: [...finalStates],
}
const states = Object.keys(transitions) as OperationState[]

async function bring(db: TestDatabase, id: string, state: OperationState): Promise<void> {
  if (finalStates.includes(state)) {
    await db.query('select sluice.end_operation($1, $2)', [id, state])
  } else {
    await db.query(
      `update sluice.operation
       set status = $2, pass = case when $2 = 'verifying' then 2 else 1 end,
         hold_until = case when $2 = 'held' then now() + interval '1 hour' end
       where id = $1`,
      [id, state],
    )
  }
}

const rowOf = (db: TestDatabase, id: string): Promise<object[]> =>
  db.query(
    `select to_jsonb(o) as row from sluice.operation o where id = $1
     union all select to_jsonb(h) from sluice.operation_history h where id = $1
     union all select to_jsonb(t) from (select to_status, count(*) from sluice.transition where operation_id = $1 group by 1) t`,
    [id],
  )

async function act(sluice: Sluice, verb: OperationVerb, id: string): Promise<OperationState> {
  if (verb === 'set') return (await sluice.operations.set(id, { lanes: 7, pace: 0.5, subBatchSize: 9 })).state
  return (await sluice.operations[verb](id, { actor: 'ada', reason: 'because' })).state
}

function expected(verb: OperationVerb, from: OperationState): OperationState {
  if (verb === 'pause') return 'paused'
  if (verb === 'resume' && from !== 'paused') return 'active'
  if (verb === 'resume' || verb === 'approve') return 'queued'
  if (verb === 'cancel') return 'cancelled'
  if (verb === 'finalize') return 'finished'
  return verb === 'retry' && finalStates.includes(from) ? 'queued' : from
}

describe('verbs', () => {
  test.each(states)('from %s: the table of verbs holds, and refused ones change nothing', async (state) => {
    await using db = await counters(10)
    const { sluice } = working(db, [shared])
    await using _ = sluice
    for (const verb of ['pause', 'resume', 'approve', 'retry', 'set', 'finalize', 'cancel'] as const) {
      const { id } = await sluice.operations.start(shared, undefined, { tenant: verb })
      await bring(db, id, state)
      const before = await rowOf(db, id)
      if ((verbs[verb] as readonly string[]).includes(state)) {
        expect([verb, await act(sluice, verb, id)]).toEqual([verb, expected(verb, state)])
        if (verb === 'set')
          expect(await sluice.operations.get(id)).toMatchObject({ lanes: 7, pace: 0.5, subBatchSize: 9 })
      } else if (already[verb]?.includes(state) === true) {
        expect([verb, await act(sluice, verb, id)]).toEqual([verb, state])
        expect([verb, await rowOf(db, id)]).toEqual([verb, before])
      } else {
        await expect(act(sluice, verb, id), `${verb} of a ${state} one`).rejects.toMatchObject({
          code: 'OPERATION_STATE',
        })
        expect([verb, await rowOf(db, id)]).toEqual([verb, before])
      }
    }
  })

  test('on an operation that does not exist say so', async () => {
    await using db = await counters(1)
    const { sluice } = working(db, [shared])
    await using _ = sluice
    for (const verb of Object.keys(verbs) as OperationVerb[]) {
      await expect(act(sluice, verb, '00000000-0000-7000-8000-000000000000'), verb).rejects.toMatchObject({
        code: 'OPERATION_NOT_FOUND',
      })
    }
  })

  test('limits out of range are refused', async () => {
    await using db = await counters(1)
    const { sluice } = working(db, [shared])
    await using _ = sluice
    const { id } = await sluice.operations.start(shared)
    for (const limits of [{ lanes: 0 }, { pace: 0 }, { pace: 1.1 }, { subBatchSize: 1.5 }, { lanes: Number.NaN }]) {
      await expect(sluice.operations.set(id, limits)).rejects.toMatchObject({ code: 'ARGS_INVALID' })
    }
    expect(await sluice.operations.get(id)).toMatchObject({ lanes: 1, pace: 1, subBatchSize: 50 })
  })
})

describe('pausing', () => {
  test('a running operation stops after its sub-batch, keeps its counters, and does each row once when resumed', async () => {
    await using db = await counters(1_000)
    const { open, opened } = gate()
    let calls = 0
    const gated = defineOperation({
      ...shape,
      async perform({ batch }) {
        calls += 1
        if (calls === 4) await opened
        return batch.update(sql`n = n + 1`)
      },
    })
    const { sluice } = working(db, [gated])
    await using _ = sluice
    await sluice.start()
    const { id } = await sluice.operations.start(gated)
    await until('it is in its fourth sub-batch', () => calls === 4)
    expect((await sluice.operations.pause(id, { actor: 'ada', reason: 'lunch' })).state).toBe('pausing')
    open()
    await until('it is paused', async () => (await sluice.operations.get(id)).state === 'paused')
    const paused = await sluice.operations.get(id)
    expect(paused).toMatchObject({ reason: 'lunch', limitedBy: 'paused: lunch', rowsChanged: await counted(db) })
    expect(paused.rowsSeen).toBe(200)
    expect(await running(db)).toBe(0)
    await sluice.operations.resume(id, { actor: 'bob' })
    expect(await sluice.operations.wait(id, { everyMs: 50 })).toMatchObject({
      state: 'finished',
      rowsSeen: 1_000,
      rowsMatched: 1_000,
      rowsChanged: 1_000,
    })
    expect(await wrong(db)).toBe(0)
    expect(await strangeTransitions(db)).toEqual([])
  })

  test.each([false, true])('in the last sub-batch (verify: %s) does not lose the end', async (verify) => {
    await using db = await counters(40)
    const { open, opened } = gate()
    let entered = false
    const last = defineOperation({
      ...shape,
      verify,
      scope: () => sql`not done`,
      async perform({ batch }) {
        entered = true
        await opened
        return batch.update(sql`n = n + 1, done = true`)
      },
    })
    const { sluice } = working(db, [last])
    await using _ = sluice
    await sluice.start()
    const { id } = await sluice.operations.start(last)
    await until('it is at work', () => entered)
    await sluice.operations.pause(id)
    open()
    await until('it is paused', async () => (await sluice.operations.get(id)).state === 'paused')
    await sluice.operations.resume(id)
    const end = await sluice.operations.wait(id, { everyMs: 50, signal: AbortSignal.timeout(patiently(8_000)) })
    expect(end).toMatchObject({ state: 'finished', rowsChanged: 40 })
    expect(await wrong(db)).toBe(0)
  })
})

describe('cancelling', () => {
  test('a running operation ends after its sub-batch; what is done stays done, and an equal one may start', async () => {
    await using db = await counters(1_000)
    const { sluice, events } = working(db, [slowly])
    await using _ = sluice
    await sluice.start()
    const { id } = await sluice.operations.start(slowly)
    expect(await sluice.operations.start(slowly)).toMatchObject({ id, duplicate: true })
    await events.event('sub-batch.committed', { nth: 3 })
    await sluice.operations.cancel(id, { actor: 'ada', reason: 'wrong table' })
    const end = await sluice.operations.wait(id, { everyMs: 50 })
    expect(end).toMatchObject({ state: 'cancelled', rowsChanged: await counted(db) })
    expect(end.rowsChanged).toBeLessThan(1_000)
    expect(await db.value('select count(*)::int from sluice.batch')).toBe(0)
    const again = await sluice.operations.start(slowly)
    expect(again.duplicate).toBe(false)
    expect(again.id).not.toBe(id)
    await expect(sluice.operations.retry(id)).rejects.toMatchObject({ code: 'OPERATION_STATE' })
  })

  test('one that waits for its table works while another has that table', async () => {
    await using db = await counters(100)
    const { open, opened } = gate()
    const first = defineOperation({ ...shape, name: 'first', perform: () => opened })
    const second = defineOperation({ ...shape, name: 'second', perform: ({ batch }) => batch.update(sql`n = n + 1`) })
    const { sluice, events } = working(db, [first, second])
    await using _ = sluice
    await sluice.start()
    await sluice.operations.start(first)
    await events.event('batch.started')
    const { id } = await sluice.operations.start(second)
    expect((await sluice.operations.cancel(id)).state).toBe('cancelled')
    open()
    await events.event('operation.finished')
  })

  test('one that waits for approval leaves a record that the table of states knows', async () => {
    await using db = await counters(10)
    const asked = defineOperation({ ...shape, approval: true, perform: ({ batch }) => batch.update(sql`n = n + 1`) })
    const { sluice } = working(db, [asked])
    await using _ = sluice
    const { id } = await sluice.operations.start(asked)
    expect((await sluice.operations.cancel(id, { actor: 'ada' })).state).toBe('cancelled')
    expect(await strangeTransitions(db)).toEqual([])
  })
})

test('an operation that needs approval touches no row before a person lets it', async () => {
  await using db = await counters(100)
  const asked = defineOperation({ ...shape, approval: true, perform: ({ batch }) => batch.update(sql`n = n + 1`) })
  await db.query('create table other (id int primary key)')
  const free = defineOperation({ ...shape, name: 'free', table: 'other', perform: ({ batch }) => batch.delete() })
  const { sluice, events } = working(db, [asked, free])
  await using _ = sluice
  await sluice.start()
  const { id } = await sluice.operations.start(asked)
  await sluice.operations.start(free)
  await events.event('operation.finished')
  expect(await sluice.operations.get(id)).toMatchObject({ state: 'awaiting_approval', limitedBy: 'waits for approval' })
  expect(await counted(db)).toBe(0)
  await sluice.operations.approve(id, { actor: 'ada', reason: 'looks right' })
  await events.event('operation.finished', { nth: 2 })
  expect(await wrong(db)).toBe(0)
  expect(await db.query(`select actor, reason from sluice.transition where from_status = 'awaiting_approval'`)).toEqual(
    [{ actor: 'ada', reason: 'looks right' }],
  )
})

test('the kill switch stops what runs and what starts later, in every process, until it is turned back', async () => {
  await using db = await counters(1_000)
  await db.query('create table other (id int primary key)')
  await db.query('insert into other select generate_series(1, 10)')
  const witness = defineOperation({ ...shape, name: 'witness', table: 'other', perform: ({ batch }) => batch.delete() })
  const sharing = defineOperation({
    ...shape,
    conflicts: 'none',
    async perform({ batch }) {
      await sleep(20)
      return batch.update(sql`n = n + 1`)
    },
  })
  const first = working(db, [sharing, witness])
  await first.sluice.start()
  const one = await first.sluice.operations.start(sharing)
  await first.events.event('sub-batch.committed', { nth: 2 })
  const before = first.events.count('sub-batch.committed')
  await first.sluice.operations.disable('count', { actor: 'ada', reason: 'harm' })
  await first.events.event('batch.released')
  expect(first.events.count('sub-batch.committed') - before).toBeLessThanOrEqual(1)
  const two = await first.sluice.operations.start(sharing, undefined, { tenant: 'late' })
  const done = await counted(db)
  await first.sluice.operations.start(witness)
  await first.events.event('operation.finished')
  await first.sluice.stop()

  const second = working(db, [sharing, witness])
  await using _ = second.sluice
  await second.sluice.start()
  await second.sluice.operations.start(witness)
  await second.events.event('operation.finished')
  expect(await counted(db)).toBe(done)
  for (const { id } of [one, two]) {
    expect(await second.sluice.operations.get(id)).toMatchObject({
      disabled: true,
      limitedBy: 'its definition is disabled',
    })
  }
  await second.sluice.operations.enable('count', { actor: 'ada' })
  for (const { id } of [one, two]) {
    expect((await second.sluice.operations.wait(id, { everyMs: 50 })).state).toBe('finished')
  }
  expect(await db.value('select count(*)::int from counters where n <> 2')).toBe(0)
})

describe('limits that change on the way', () => {
  test('the size of sub-batches follows from the next one on', async () => {
    await using db = await counters(2_000)
    const steady = defineOperation({
      ...shape,
      batchSize: 2_000,
      async perform({ batch }) {
        await sleep(10)
        return batch.update(sql`n = n + 1`)
      },
    })
    const { sluice, events } = working(db, [steady])
    await using _ = sluice
    await sluice.start()
    const { id } = await sluice.operations.start(steady)
    await events.event('sub-batch.committed', { nth: 3 })
    const sizes = (): number[] =>
      events.all.flatMap(({ event, payload }) => (event === 'sub-batch.committed' ? [payload.rowsSeen] : []))
    await sluice.operations.set(id, { subBatchSize: 10 })
    const before = sizes().length
    // The one that is on its way may have passed the fence before the change, and the next one was cut by then.
    await events.event('sub-batch.committed', { nth: before + 8 })
    expect(sizes().slice(0, 3)).toEqual([50, 50, 50])
    expect(sizes().slice(before + 2, before + 8)).toEqual([10, 10, 10, 10, 10, 10])
    await sluice.operations.set(id, { subBatchSize: 160 })
    await events.event('operation.finished')
    expect(Math.max(...sizes())).toBe(160)
    expect(await wrong(db)).toBe(0)
  })

  test('a size set while it is paused holds for the first sub-batch after it', async () => {
    await using db = await counters(400)
    const { sluice, events } = working(db, [slowly])
    await using _ = sluice
    await sluice.start()
    const { id } = await sluice.operations.start(slowly)
    await events.event('sub-batch.committed')
    await sluice.operations.pause(id)
    await until('it is paused', async () => (await sluice.operations.get(id)).state === 'paused')
    const before = events.count('sub-batch.committed')
    await sluice.operations.set(id, { subBatchSize: 5 })
    await sluice.operations.resume(id)
    const next = await events.event('sub-batch.committed', { nth: before + 1 })
    expect(next.rowsSeen).toBe(5)
  })

  test('more lanes let more batches run at once', async () => {
    await using db = await counters(2_000)
    let [now, most, widened] = [0, 0, false]
    const wide = defineOperation({
      ...shape,
      async perform({ batch }) {
        most = Math.max(most, ++now)
        // Nobody goes on alone, so that the rows do not run out before three have come.
        if (widened) await until('three run at once', () => most === 3)
        else await sleep(15)
        now -= 1
        return batch.update(sql`n = n + 1`)
      },
    })
    const { sluice, events } = working(db, [wide], { worker: { ...testProfile.worker, concurrency: 3, poll: '20ms' } })
    await using _ = sluice
    await sluice.start()
    const { id } = await sluice.operations.start(wide)
    await events.event('sub-batch.committed', { nth: 4 })
    expect(most).toBe(1)
    await sluice.operations.set(id, { lanes: 3 })
    widened = true
    await events.event('operation.finished')
    expect(most).toBe(3)
    expect(await wrong(db)).toBe(0)
  })

  test('a lower pace puts rest between the sub-batches', async () => {
    await using db = await counters(1_000)
    const commits: { at: number; elapsedMs: number }[] = []
    const { sluice, events } = working(db, [slowly])
    sluice.on('sub-batch.committed', ({ elapsedMs }) => void commits.push({ at: performance.now(), elapsedMs }))
    await using _ = sluice
    await sluice.start()
    const { id } = await sluice.operations.start(slowly)
    await events.event('sub-batch.committed', { nth: 2 })
    await sluice.operations.set(id, { pace: 0.2 })
    await events.event('sub-batch.committed', { nth: 8 })
    // At a fifth of the time, each rest is at least four times as long as the sub-batch before it.
    for (const [i, { at, elapsedMs }] of commits.slice(4, 7).entries()) {
      expect((commits[5 + i]?.at ?? 0) - at).toBeGreaterThanOrEqual(4 * elapsedMs - 5)
    }
    await sluice.operations.set(id, { pace: 1 })
    await events.event('operation.finished')
    expect(await wrong(db)).toBe(0)
  })
})

test('finalize drives a paused operation to its end in this process', async () => {
  await using db = await counters(500)
  const { sluice } = working(db, [addOne])
  await using _ = sluice
  const { id } = await sluice.operations.start(addOne)
  await sluice.operations.pause(id)
  expect(await sluice.operations.finalize(id, { actor: 'deploy' })).toMatchObject({
    state: 'finished',
    rowsChanged: 500,
  })
  expect(await wrong(db)).toBe(0)
  expect(await db.value('select count(*)::int from sluice.worker')).toBe(0)
})

/** Cannot take some rows, as long as they are listed. */
const picky = (bad: { ids: number[] }): OperationDefinition<undefined> =>
  defineOperation({
    ...shape,
    async perform({ batch }) {
      const rows = await batch.rows<{ id: string }>()
      if (rows.some(({ id }) => bad.ids.includes(Number(id)))) throw new RangeError('bad row')
      return batch.update(sql`n = n + 1`)
    },
  })

describe('retrying', () => {
  test('a failed operation with mended code goes on where it stood', async () => {
    await using db = await counters(1_000)
    let column = 'n = n + 1'
    const mended = defineOperation({
      ...shape,
      lanes: 2,
      async perform({ batch }) {
        const [first] = await batch.rows<{ id: string }>(sql`id = 501`)
        return batch.update(first === undefined || column !== 'broken' ? sql`n = n + 1` : sql`colour = 1`)
      },
    })
    column = 'broken'
    const { sluice, events } = working(db, [mended], { worker: { ...testProfile.worker, concurrency: 2 } })
    await using _ = sluice
    await sluice.start()
    const { id } = await sluice.operations.start(mended)
    expect(await events.event('operation.failed')).toMatchObject({ error: { code: '42703' } })
    const failed = await sluice.operations.get(id)
    expect(failed).toMatchObject({ state: 'failed', rowsChanged: await counted(db) })
    column = 'mended'
    // The worker may have taken it up before the answer was read.
    expect((await sluice.operations.retry(id, { actor: 'ada', reason: 'mended' })).state).toMatch(
      /^(queued|active|finished)$/,
    )
    expect(await sluice.operations.wait(id, { everyMs: 50 })).toMatchObject({
      state: 'finished',
      rowsSeen: 1_000,
      rowsMatched: 1_000,
      rowsChanged: 1_000,
    })
    expect(await wrong(db)).toBe(0)
  })

  test('quarantined rows of a finished operation are done, and its figures are those of the table', async () => {
    await using db = await counters(500)
    const bad = { ids: [7, 420] }
    const definition = picky(bad)
    const { sluice } = working(db, [definition])
    await using _ = sluice
    await sluice.start()
    const { id } = await sluice.operations.start(definition)
    expect(await sluice.operations.wait(id, { everyMs: 50 })).toMatchObject({
      state: 'finished_with_quarantine',
      rowsSeen: 500,
      rowsChanged: 498,
      rowsQuarantined: 2,
    })
    bad.ids = []
    await sluice.operations.retry(id, { actor: 'ada', reason: 'mended' })
    expect(await sluice.operations.wait(id, { everyMs: 50 })).toMatchObject({
      state: 'finished',
      rowsSeen: 500,
      rowsMatched: 500,
      rowsChanged: 500,
      rowsSkipped: 0,
      rowsQuarantined: 0,
    })
    expect(await wrong(db)).toBe(0)
    expect(await sluice.operations.quarantined(id)).toEqual([])
  })

  test('quarantined rows of a paused operation are done with the rest', async () => {
    await using db = await counters(500)
    const bad = { ids: [7] }
    const definition = picky(bad)
    const { sluice, events } = working(db, [definition])
    await using _ = sluice
    await sluice.start()
    const { id } = await sluice.operations.start(definition)
    await events.event('batch.quarantined')
    await sluice.operations.pause(id)
    await until('it is paused', async () => (await sluice.operations.get(id)).state === 'paused')
    bad.ids = []
    await sluice.operations.retry(id)
    await sluice.operations.resume(id)
    expect(await sluice.operations.wait(id, { everyMs: 50 })).toMatchObject({
      state: 'finished',
      rowsSeen: 500,
      rowsChanged: 500,
      rowsQuarantined: 0,
    })
    expect(await wrong(db)).toBe(0)
  })

  test('is recorded with who and why', async () => {
    await using db = await counters(10)
    const { sluice } = working(db, [addOne])
    await using _ = sluice
    const { id } = await sluice.operations.start(addOne, undefined, { actor: 'starter' })
    await db.query(`select sluice.end_operation($1, 'failed')`, [id])
    await sluice.operations.retry(id, { actor: 'ada', reason: 'mended' })
    expect(
      await db.query('select from_status, to_status, actor, reason from sluice.transition order by at desc limit 1'),
    ).toEqual([{ from_status: 'failed', to_status: 'queued', actor: 'ada', reason: 'mended' }])
  })

  test('many ranges keeps to the lanes of the operation', async () => {
    await using db = await counters(500)
    const bad = { ids: [7, 207, 407] }
    let [now, most] = [0, 0]
    const definition = defineOperation({
      ...shape,
      async perform({ batch }) {
        const rows = await batch.rows<{ id: string }>()
        if (rows.some(({ id }) => bad.ids.includes(Number(id)))) throw new RangeError('bad row')
        most = Math.max(most, ++now)
        await sleep(40)
        now -= 1
        return batch.update(sql`n = n + 1`)
      },
    })
    const { sluice } = working(db, [definition], { worker: { ...testProfile.worker, concurrency: 3, poll: '20ms' } })
    await using _ = sluice
    await sluice.start()
    const { id } = await sluice.operations.start(definition)
    await sluice.operations.wait(id, { everyMs: 50 })
    bad.ids = []
    await sluice.operations.retry(id)
    await sluice.operations.wait(id, { everyMs: 50 })
    expect(await wrong(db)).toBe(0)
    expect(most).toBe(1)
  })
})

test('workers that look at the same moment keep to the lanes', async () => {
  await using db = await counters(100)
  const { sluice } = working(db, [addOne])
  await using _ = sluice
  const { id } = await sluice.operations.start(addOne)
  await db.query(`update sluice.operation set status = 'active', fully_carved = true`)
  const timeouts = { statementMs: 5_000, lockMs: 2_000, idleInTransactionMs: 10_000 }
  const options = { url: db.workerUrl, schema: 'sluice', workSize: 1, timeouts }
  await using one = await openDatabase(options)
  await using other = await openDatabase(options)
  const telemetry = new Telemetry()
  for (let round = 1; round <= 20; round++) {
    await db.query('delete from sluice.batch')
    await db.query(
      `insert into sluice.batch (id, operation_id, seq, lower_key, upper_key, checkpoint, state, sub_batch_size, pass)
       select gen_random_uuid(), $1, -n, array[(10 * n)::text], array[(10 * n + 5)::text], array[(10 * n)::text], 'ready', 5, 1
       from generate_series(1, 6) n`,
      [id],
    )
    const registry = new Registry('operation', [addOne])
    const taker = { telemetry, registry, governor: ungoverned, leaseMs: 10_000, carveMs: 2_000 }
    const take = (database: Database): Promise<unknown> => {
      const target = postgresTarget(database)
      const belonging = new Belonging({ telemetry, database, target })
      const cuts = new Cuts({ ...taker, target })
      return takeBatch({ ...taker, database, target, belonging, workerId: uuidv7(), cuts })
    }
    await Promise.all([one, other, one, other].map(take))
    expect(await running(db), `round ${round}`).toBe(1)
  }
})

test('a held operation that a person resumes goes on at once', async () => {
  await using db = await counters(100)
  await db.query(`create function full_disk() returns trigger language plpgsql as
    $$ begin raise exception 'could not extend file' using errcode = '53100'; end $$`)
  await db.query('create trigger full_disk before update on counters execute function full_disk()')
  const { sluice, events } = working(db, [addOne])
  await using _ = sluice
  await sluice.start()
  const { id } = await sluice.operations.start(addOne)
  await events.event('operation.held')
  await db.query('drop trigger full_disk on counters')
  await sluice.operations.resume(id, { actor: 'ada' })
  await events.event('operation.finished')
  expect(await wrong(db)).toBe(0)
})

describe('where a walk ends and begins', () => {
  test.each([
    ['end', 100],
    ['empty', 150],
  ] as const)('until %s: of rows that are added ahead while it runs, %d are done', async (until_, done) => {
    await using db = await counters(100)
    let added = false
    const growing = defineOperation({
      ...shape,
      until: until_,
      async perform({ batch }) {
        if (!added) {
          added = true
          await addRows(db, 101, 150)
        }
        return batch.update(sql`n = n + 1`)
      },
    })
    const { sluice, events } = working(db, [growing])
    await using _ = sluice
    await sluice.start()
    await sluice.operations.start(growing)
    expect(await events.event('operation.finished')).toMatchObject({ rowsChanged: done, rowsSeen: done })
    expect(await counted(db)).toBe(done)
  })

  test.each([
    ['end', 40],
    ['end', 200],
    ['empty', 40],
    ['empty', 200],
  ] as const)(
    'a recurring run (until %s) begins behind the last key of the last one: %d new rows',
    async (until_, more) => {
      await using db = await counters(200)
      let grow = true
      const recurring = defineOperation({
        ...shape,
        until: until_,
        recur: 'continue',
        async perform({ batch }) {
          const changed = await batch.update(sql`n = n + 1`)
          if (grow && until_ === 'empty') await addRows(db, 201, 200 + more)
          grow = false
          return changed
        },
      })
      const { sluice, events } = working(db, [recurring])
      await using _ = sluice
      await sluice.start()
      await sluice.operations.start(recurring)
      await events.event('operation.finished')
      if (until_ === 'end') await addRows(db, 201, 200 + more)
      await addRows(db, 1_001, 1_010)
      await sluice.operations.start(recurring)
      expect(await events.event('operation.finished', { nth: 2 })).toMatchObject({
        rowsChanged: until_ === 'end' ? more + 10 : 10,
      })
      await sluice.operations.start(recurring)
      expect(await events.event('operation.finished', { nth: 3 })).toMatchObject({ rowsChanged: 0 })
      expect(await wrong(db)).toBe(0)
    },
  )

  test.each(['end', 'empty'] as const)('min is left out and max is included (until %s)', async (until_) => {
    await using db = await counters(500)
    const bounded = defineOperation({ ...shape, until: until_, perform: ({ batch }) => batch.update(sql`n = n + 1`) })
    const { sluice, events } = working(db, [bounded])
    await using _ = sluice
    await sluice.start()
    await sluice.operations.start(bounded, undefined, { min: [100], max: [300] })
    await events.event('operation.finished')
    expect(await db.query('select min(id)::int, max(id)::int, count(*)::int from counters where n = 1')).toEqual([
      { min: 101, max: 300, count: 200 },
    ])
    await expect(sluice.operations.start(bounded, undefined, { min: ['x'] })).rejects.toMatchObject({
      code: 'CURSOR_INVALID',
    })
  })
})

describe('verifying', () => {
  test('finds rows that were added behind the cursor', async () => {
    await using db = await counters(500)
    let calls = 0
    const checked = defineOperation({
      ...shape,
      verify: true,
      scope: () => sql`not done`,
      async perform({ batch }) {
        calls += 1
        if (calls === 5) await addRows(db, -30, -1)
        return batch.update(sql`n = n + 1, done = true`)
      },
    })
    const { sluice, events } = working(db, [checked])
    await using _ = sluice
    await sluice.start()
    const { id } = await sluice.operations.start(checked)
    await events.event('operation.verifying')
    expect(await events.event('operation.finished')).toMatchObject({ rowsSeen: 530, rowsChanged: 530 })
    expect(await wrong(db)).toBe(0)
    expect((await sluice.operations.get(id)).state).toBe('finished')
  })

  test('counts a row that cannot be processed once', async () => {
    await using db = await counters(200)
    const checked = defineOperation({
      ...shape,
      verify: true,
      scope: () => sql`not done`,
      async perform({ batch }) {
        const rows = await batch.rows<{ id: string }>()
        if (rows.some(({ id }) => id === '77')) throw new RangeError('bad row')
        return batch.update(sql`n = n + 1, done = true`)
      },
    })
    const { sluice } = working(db, [checked])
    await using _ = sluice
    await sluice.start()
    const { id } = await sluice.operations.start(checked)
    expect(await sluice.operations.wait(id, { everyMs: 50 })).toMatchObject({
      state: 'finished_with_quarantine',
      rowsSeen: 200,
      rowsChanged: 199,
      rowsQuarantined: 1,
    })
    expect(await sluice.operations.quarantined(id)).toHaveLength(1)
  })
})

test('external effects run in no transaction, and again with the same keys after the handler fell over', async () => {
  await using db = await counters(60)
  const seen = new Map<number, string[]>()
  let falls = 1
  let locks = 0
  const external = defineOperation({
    ...shape,
    subBatchSize: 20,
    effects: 'external',
    async perform(context) {
      // The end of the next batch may be looked for meanwhile, in a transaction that only reads.
      locks += await db.value<number>(
        `select count(*)::int from pg_locks l join pg_stat_activity a on a.pid = l.pid
         where a.datname = current_database() and a.application_name = 'sluice work' and l.mode <> 'AccessShareLock'
           and l.relation = any(array['counters', 'sluice.batch']::regclass[])`,
      )
      for (const row of context.rows) {
        const id = Number(row['id'])
        seen.set(id, [...(seen.get(id) ?? []), context.keyOf(row)])
      }
      if (falls-- > 0) throw new Error('the other side hung up')
    },
  })
  const { sluice, events } = working(db, [external])
  await using _ = sluice
  await sluice.start()
  const { id } = await sluice.operations.start(external)
  expect(await events.event('operation.finished')).toMatchObject({ rowsSeen: 60, rowsChanged: 60, rowsQuarantined: 0 })
  expect(locks).toBe(0)
  expect([...seen.keys()].toSorted((a, b) => a - b)).toEqual(Array.from({ length: 60 }, (_row, i) => i + 1))
  for (const [row, keys] of seen) {
    expect(keys).toHaveLength(row <= 20 ? 2 : 1)
    expect(new Set(keys)).toEqual(new Set([`${id}:${row}`]))
  }
})

describe('two operations on one table', () => {
  test.each([
    ['table', 1],
    ['none', 2],
  ] as const)('with conflicts: %s run at most %d at a time', async (conflicts, atOnce) => {
    await using db = await counters(400)
    let [now, most] = [0, 0]
    const touch = (name: string): OperationDefinition<undefined> =>
      defineOperation({
        ...shape,
        name,
        conflicts,
        async perform({ batch }) {
          most = Math.max(most, ++now)
          // Where both may run, the first waits for the other.
          await (atOnce === 2 ? until('both are at work', () => most === 2) : sleep(30))
          now -= 1
          return batch.update(sql`n = n + 1`)
        },
      })
    const pair = [touch('one'), touch('two')]
    const { sluice } = working(db, pair, { worker: { ...testProfile.worker, concurrency: 2, poll: '20ms' } })
    await using _ = sluice
    await sluice.start()
    const ids = await Promise.all(pair.map((definition) => sluice.operations.start(definition)))
    for (const { id } of ids) expect((await sluice.operations.wait(id, { everyMs: 50 })).state).toBe('finished')
    expect(most).toBe(atOnce)
    expect(await db.value('select count(*)::int from counters where n <> 2')).toBe(0)
  })
})

test('rows on which workers died three times are isolated, and the rest is done', async () => {
  await using db = await counters(200)
  const first = working(db, [slowly])
  await first.sluice.start()
  const { id } = await first.sluice.operations.start(slowly)
  await first.events.event('sub-batch.committed')
  await first.sluice.stop()
  const [before] = await db.query<{ at: number }>('select checkpoint[1]::int as at from sluice.batch')
  for (let death = 1; death <= 3; death++) {
    await db.query(`update sluice.batch set state = 'running', nonce = gen_random_uuid(), worker_id = gen_random_uuid(),
      lease_until = clock_timestamp() - interval '1 second'`)
    expect(await rescue(asStore(db))).toMatchObject([{ crashes: death }])
  }
  const second = working(db, [slowly])
  await using _ = second.sluice
  await second.sluice.start()
  const isolated = await second.events.event('batch.quarantined')
  expect(isolated).toMatchObject({ error: { name: 'WorkerDied', message: 'the worker died 3 times on these rows' } })
  expect(await second.events.event('operation.finished')).toMatchObject({
    rowsSeen: 200,
    rowsChanged: 200 - isolated.rows,
    rowsQuarantined: isolated.rows,
  })
  // The last death was met with sub-batches of a hundredth of their size, so one row.
  expect(isolated.rows).toBe(1)
  const head = (before?.at ?? 0) + 1
  expect(await db.query('select id::int from counters where n = 0 order by id')).toEqual([{ id: head }])
  await second.sluice.operations.retry(id)
  await second.events.event('operation.finished', { nth: 2 })
  expect(await wrong(db)).toBe(0)
})

describe('history', () => {
  test('keeps every change with who and why, a summary, and nothing among the living', async () => {
    await using db = await counters(300)
    const { sluice, events } = working(db, [slowly])
    await using _ = sluice
    const { id } = await sluice.operations.start(slowly, undefined, { actor: 'starter', tenant: 'acme' })
    await sluice.operations.pause(id, { actor: 'ada', reason: 'not yet' })
    await sluice.operations.resume(id, { actor: 'bob', reason: 'now' })
    await sluice.start()
    await events.event('operation.finished')
    expect(
      await db.query(
        'select from_status, to_status, actor, reason from sluice.transition where operation_id = $1 order by at',
        [id],
      ),
    ).toEqual([
      { from_status: null, to_status: 'queued', actor: 'starter', reason: null },
      { from_status: 'queued', to_status: 'paused', actor: 'ada', reason: 'not yet' },
      { from_status: 'paused', to_status: 'queued', actor: 'bob', reason: 'now' },
      { from_status: 'queued', to_status: 'active', actor: null, reason: null },
      { from_status: 'active', to_status: 'finished', actor: null, reason: null },
    ])
    expect(await db.query('select id, name, tenant, status, rows_changed::int from sluice.operation_summary')).toEqual([
      { id, name: 'count', tenant: 'acme', status: 'finished', rows_changed: 300 },
    ])
    expect(await db.value('select (select count(*) from sluice.operation) + (select count(*) from sluice.batch)')).toBe(
      '0',
    )
    expect(await db.value(`select count(*)::int from sluice.batch_history where outcome = 'finished'`)).toBe(2)
  })

  test('of long ago is dropped by any worker, and the summary stays', async () => {
    await using db = await counters(10)
    const { sluice } = working(db, [addOne])
    await using _ = sluice
    const { id } = await sluice.operations.start(addOne)
    await db.query(`select sluice.end_operation($1, 'finished')`, [id])
    const parents = ['operation_history', 'batch_history', 'quarantine', 'transition']
    for (const parent of parents) {
      await db.query(`create table sluice.${parent}_20200106 (like sluice.${parent} including all)`)
      await db.query(`alter table sluice.${parent} attach partition sluice.${parent}_20200106
        for values from ('2020-01-06') to ('2020-01-13')`)
    }
    await db.query(`update sluice.operation_history set finished_at = '2020-01-07'`)
    expect((await sluice.operations.get(id)).state).toBe('finished')
    const partitions = (): Promise<number> =>
      db.value(`select count(*)::int from pg_class where relname like '%\\_20200106' and relkind = 'r'`)
    expect(await partitions()).toBe(parents.length)
    await sluice.start()
    await until('they are dropped', async () => (await partitions()) === 0)
    await expect(sluice.operations.get(id)).rejects.toMatchObject({ code: 'OPERATION_NOT_FOUND' })
    expect(await db.value('select count(*)::int from sluice.operation_summary')).toBe(1)
  })
})
