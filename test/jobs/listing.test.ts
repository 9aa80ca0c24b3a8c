import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { defineJob, parseArgsFilter, version, type JobQuery, type Jobs } from '../../src/index.ts'
import { testDatabase } from '../support/database.ts'
import { drained, jobWorker, startedWorker } from '../support/jobs.ts'

const numbered = z.object({ n: z.number() })
const many = (length: number): { n: number }[] => Array.from({ length }, (_, n) => ({ n }))
const noop = defineJob({ name: 'noop', args: numbered, perform: () => undefined })
const doomed = defineJob({
  name: 'doomed',
  args: numbered,
  retry: false,
  perform() {
    throw new Error('no')
  },
})

/** All pages of a list, from first to last. */
async function pages(jobs: Jobs, query: JobQuery, limit: number): Promise<number[][]> {
  const found: number[][] = []
  let before: number | null = null
  do {
    const page: Awaited<ReturnType<Jobs['list']>> = await jobs.list({ ...query, before, limit })
    found.push(page.jobs.map(({ id }) => id))
    before = page.next
  } while (before !== null)
  return found
}

test('unfinished jobs come latest first, page by page, while others come and go', async () => {
  await using db = await testDatabase()
  await using worker = jobWorker(db, [noop])
  const ids = (await worker.jobs.enqueueMany(noop, many(120))).map(({ id }) => id)
  const first = await worker.jobs.list({ limit: 50 })
  // What comes later does not shift the pages, and what goes leaves a gap only.
  await worker.jobs.enqueueMany(noop, many(10))
  await worker.jobs.cancel(ids[10] ?? 0)
  const second = await worker.jobs.list({ limit: 50, before: first.next })
  const third = await worker.jobs.list({ limit: 50, before: second.next })
  expect([first, second, third].map(({ jobs }) => jobs.length)).toEqual([50, 50, 19])
  expect(third.next).toBeNull()
  const seen = [first, second, third].flatMap(({ jobs }) => jobs.map(({ id }) => id))
  expect(seen).toEqual(ids.toReversed().filter((id) => id !== ids[10]))
})

test.each([
  ['succeeded', noop],
  ['dead', doomed],
] as const)('jobs that are %s are listed in pages, too', async (state, definition) => {
  await using db = await testDatabase()
  await using worker = await startedWorker(db, [definition])
  const ids = (await worker.jobs.enqueueMany(definition, many(25))).map(({ id }) => id)
  await drained(db)
  const found = await pages(worker.jobs, { states: [state] }, 10)
  expect(found.map((page) => page.length)).toEqual([10, 10, 5])
  expect(found.flat()).toEqual(ids.toReversed())
})

describe('a list can be narrowed', () => {
  test('by name, queue, tag and state, and by several of them', async () => {
    await using db = await testDatabase()
    const other = defineJob({ name: 'other', args: numbered, perform: () => undefined })
    const keyed = defineJob({ name: 'keyed', concurrency: { limit: 1, key: () => 'k' }, perform: () => undefined })
    await using worker = jobWorker(db, [])
    const add = async (definition: typeof noop, options: Parameters<Jobs['enqueueMany']>[2]): Promise<number> =>
      (await worker.jobs.enqueue(definition, { n: 1 }, options)).id
    const a = await add(noop, { queue: 'q1', tags: ['x', 'y'] })
    const b = await add(noop, { queue: 'q2', tags: ['y'] })
    const c = await add(other, { queue: 'q1' })
    const d = await add(other, { queue: 'q2', in: '1h', tags: ['x'] })
    const [e, f] = [(await worker.jobs.enqueue(keyed)).id, (await worker.jobs.enqueue(keyed)).id]
    const listed = async (query: JobQuery): Promise<number[]> =>
      (await worker.jobs.list(query)).jobs.map(({ id }) => id).toReversed()
    expect(await listed({})).toEqual([a, b, c, d, e, f])
    expect(await listed({ name: 'noop' })).toEqual([a, b])
    expect(await listed({ queue: 'q1' })).toEqual([a, c])
    expect(await listed({ tag: 'x' })).toEqual([a, d])
    expect(await listed({ states: ['scheduled'] })).toEqual([d])
    expect(await listed({ states: ['blocked'] })).toEqual([f])
    expect(await listed({ states: ['waiting', 'blocked'], queue: 'default' })).toEqual([e, f])
    expect(await listed({ name: 'noop', queue: 'q2', tag: 'y', states: ['waiting'] })).toEqual([b])
    expect(await listed({ name: 'nobody' })).toEqual([])
    await worker.jobs.cancel(a)
    await worker.jobs.discard(d)
    expect(await listed({ states: ['cancelled', 'discarded', 'dead', 'quarantined'] })).toEqual([a, d])
    expect(await listed({ states: ['cancelled', 'discarded'], tag: 'x', name: 'noop' })).toEqual([a])
  })

  test('and says so when the states cannot be listed together', async () => {
    await using db = await testDatabase()
    await using worker = jobWorker(db, [])
    for (const states of [[], ['waiting', 'dead'], ['succeeded', 'dead'], ['finished']] as JobQuery['states'][]) {
      await expect(worker.jobs.list({ states: states ?? [] })).rejects.toMatchObject({ code: 'JOB_STATE' })
    }
  })
})

test('the workers are listed with what they can do and what they hold', async () => {
  await using db = await testDatabase()
  const busy = defineJob({
    name: 'busy',
    async perform({ signal }) {
      await sleep(60_000, undefined, { signal })
    },
  })
  await using worker = await startedWorker(db, [busy, noop], { concurrency: 7, queues: ['a', 'default'] })
  await using person = jobWorker(db, [])
  for (let i = 0; i < 3; i++) await person.jobs.enqueue(busy)
  await worker.events.event('job.started', { nth: 3 })
  const [listed, ...rest] = await person.sluice.workers()
  expect(rest).toEqual([])
  expect(listed).toMatchObject({
    pid: process.pid,
    version,
    jobs: ['busy', 'noop', 'sluice.bulk'],
    queues: ['a', 'default'],
    concurrency: 7,
    running: 3,
    batches: 0,
  })
  expect((await person.jobs.list({ states: ['running'] })).jobs.map(({ workerId }) => workerId)).toEqual(
    Array.from({ length: 3 }, () => listed?.id),
  )
  await worker.sluice.stop()
  expect(await person.sluice.workers()).toEqual([])
})

describe('args', () => {
  const paid = defineJob({
    name: 'paid',
    args: z.object({ order: z.union([z.number(), z.string()]), card: z.string() }),
    redact: ['args.card'],
    perform: () => undefined,
  })

  test('jobs of a name are found and counted by what stands at the top of their args', async () => {
    await using db = await testDatabase()
    await using worker = jobWorker(db, [paid, noop])
    const orders = [7, '7', 8, 7].map((order) => ({ order, card: '4242' }))
    const ids = (await worker.jobs.enqueueMany(paid, orders)).map(({ id }) => id)
    await worker.jobs.enqueueMany(noop, many(3))
    const found = async (order: number | string): Promise<number[]> =>
      (await worker.jobs.list({ name: 'paid', args: { order } })).jobs.map(({ id }) => id)
    expect(await found(7)).toEqual([ids[3], ids[0]])
    expect(await found('7')).toEqual([ids[1]])
    expect(await found('7\u0000')).toEqual([])
    expect(await worker.jobs.count({ name: 'paid', args: { order: 7 } })).toEqual({ jobs: 2, more: false })
    expect(await worker.jobs.count()).toEqual({ jobs: 7, more: false })
    expect(await worker.jobs.count({ states: ['dead'] })).toEqual({ jobs: 0, more: false })
    expect(await worker.jobs.count({ states: ['succeeded'] })).toEqual({ jobs: 0, more: false })
  })

  test('what is masked cannot be guessed, and what cannot be answered is refused before a job acts on it', async () => {
    await using db = await testDatabase()
    await using worker = jobWorker(db, [paid])
    await worker.jobs.enqueue(paid, { order: 7, card: '4242' })
    const refused = { code: 'ARGS_INVALID' }
    const masked: JobQuery = { name: 'paid', args: { card: '4242' } }
    await expect(worker.jobs.list(masked)).rejects.toMatchObject(refused)
    await expect(worker.jobs.count(masked)).rejects.toMatchObject(refused)
    await expect(worker.jobs.bulk('cancel', masked)).rejects.toMatchObject(refused)
    await expect(worker.jobs.list({ args: { order: 7 } })).rejects.toMatchObject(refused)
    await expect(worker.jobs.bulk('retry', { states: ['dead', 'waiting'] })).rejects.toMatchObject({
      code: 'JOB_STATE',
    })
    const deep = { name: 'paid', args: { order: { nr: 7 } } } as unknown as JobQuery
    await expect(worker.jobs.list(deep)).rejects.toMatchObject(refused)
    expect(await worker.jobs.count()).toEqual({ jobs: 1, more: false })
  })

  test('are counted up to ten thousand', async () => {
    await using db = await testDatabase()
    await using worker = jobWorker(db, [noop])
    await worker.jobs.enqueueMany(noop, many(10_000))
    expect(await worker.jobs.count()).toEqual({ jobs: 10_000, more: false })
    await worker.jobs.enqueue(noop, { n: 1 })
    expect(await worker.jobs.count()).toEqual({ jobs: 10_000, more: true })
  })

  test.each([
    ['order=7', { order: 7 }],
    ['order="7"', { order: '7' }],
    ['order=a=b', { order: 'a=b' }],
    ['order=', { order: '' }],
    ['paid=true', { paid: true }],
  ])('%s is a filter', (text, filter) => {
    expect(parseArgsFilter(text)).toEqual(filter)
  })

  test.each(['', 'order', '=7'])('"%s" is none', (text) => {
    expect(() => parseArgsFilter(text)).toThrow(/write key=value/)
  })
})
