// Errors and reasons with characters that the database cannot store: what happened must be written down all the same.
// Text that a caller gives is refused with a code instead: nobody may change what a user has written.
import sql from 'sql-template-tag'
import { expect, test } from 'vitest'
import { z } from 'zod'
import {
  cancel,
  defineJob,
  defineOperation,
  planned,
  retryOn,
  snooze,
  Sluice,
  type JobDefinition,
} from '../../src/index.ts'
import { jobProfile } from '../support/jobs.ts'
import { latinDatabase } from '../support/latin.ts'
import { until } from '../support/wait.ts'

const soon = { wait: 20 } as const

/** A worker on a database that stores the letters of western Europe and no others. */
async function latinWorker(
  jobs: readonly JobDefinition[],
): Promise<AsyncDisposable & { sluice: Sluice; value(text: string): Promise<unknown>; drained(): Promise<void> }> {
  const db = await latinDatabase()
  const sluice = new Sluice({ ...jobProfile(), database: db.url, jobs })
  await sluice.migrate()
  await sluice.start()
  return {
    sluice,
    value: (text) => db.value(text),
    drained: () => until('all jobs ended', async () => (await db.value('select count(*)::int from sluice.job')) === 0),
    async [Symbol.asyncDispose]() {
      await sluice.stop()
      await db[Symbol.asyncDispose]()
    },
  }
}

function failFirst({ job }: { job: { attempt: number } }): void {
  if (job.attempt === 1) throw new RangeError('строка costs 5 €, très cher')
}

test.each([false, true])(
  'a job whose error cannot be stored as it is is tried again; in a transaction: %s',
  async (transaction) => {
    const spec = { name: 'flaky', retry: { attempts: 3, ...soon }, perform: failFirst } as const
    const flaky = transaction ? defineJob({ ...spec, transaction: true }) : defineJob(spec)
    await using at = await latinWorker([flaky])
    const { id } = await at.sluice.jobs.enqueue(flaky)

    await at.drained()

    expect(await at.sluice.jobs.get(id)).toMatchObject({ state: 'succeeded', attempt: 2 })
    expect(await at.value(`select error ->> 'message' from sluice.job_attempt`)).toBe('?????? costs 5 ?, très cher')
  },
)

test('failures by a rule whose name cannot be stored are counted', async () => {
  class Ошибка extends Error {}
  const bad = defineJob({
    name: 'bad',
    onError: [retryOn(Ошибка, { attempts: 2, ...soon })],
    perform({ job }) {
      if (job.attempt < 4) throw new Ошибка('нет')
    },
  })
  await using at = await latinWorker([bad])
  const { id } = await at.sluice.jobs.enqueue(bad)

  await at.drained()

  expect(await at.sluice.jobs.get(id)).toMatchObject({ state: 'dead', attempt: 2, error: { message: '???' } })
})

test('reasons that a handler gives are kept as far as they can be stored', async () => {
  const waiting = defineJob({
    name: 'waiting',
    perform: ({ job }) =>
      job.enqueuedAt.getTime() > Date.now() - 60_000 && snoozed.size === snoozed.add(job.id).size
        ? cancel('не нужно')
        : snooze(20, 'позже'),
  })
  const snoozed = new Set<number>()
  await using at = await latinWorker([waiting])
  const { id } = await at.sluice.jobs.enqueue(waiting)

  await at.drained()

  expect(await at.sluice.jobs.get(id)).toMatchObject({ state: 'cancelled' })
  expect(await at.value(`select json_agg(reason order by at) from sluice.job_attempt`)).toEqual(['?????', '?? ?????'])
})

test('a member of a batch of jobs whose error cannot be stored as it is dies and is counted', async () => {
  const bad = defineJob({
    name: 'bad',
    retry: false,
    perform() {
      throw new Error('нет')
    },
  })
  const good = defineJob({ name: 'good', perform: () => undefined })
  await using at = await latinWorker([bad, good])
  const { id } = await at.sluice.batches.run([planned(bad), planned(good)])

  await at.drained()

  expect(await at.sluice.batches.get(id)).toMatchObject({ succeeded: 1, failed: 1 })
  expect(await at.value('select outcome from sluice.job_dead')).toBe('dead')
})

test('text that the database cannot store is refused with a code, and takes no other call with it', async () => {
  const mail = defineJob({ name: 'mail', args: z.object({ to: z.string() }), perform: () => undefined })
  const rename = defineOperation({
    name: 'rename',
    table: 'people',
    args: z.object({ to: z.string() }),
    perform: ({ batch }) => batch.update(sql`name = 'x'`),
  })
  await using db = await latinDatabase()
  await using sluice = new Sluice({ ...jobProfile(), database: db.url, jobs: [mail], operations: [rename] })
  await sluice.migrate()
  await db.value('create table people (id int primary key, name text)')
  const refused = { name: 'SluiceError', code: 'TEXT_INVALID', message: expect.stringContaining('UTF8') as string }

  const [args, tags, good] = await Promise.allSettled([
    sluice.jobs.enqueue(mail, { to: 'Анна' }),
    sluice.jobs.enqueue(mail, { to: 'Anna' }, { tags: ['срочно'] }),
    sluice.jobs.enqueue(mail, { to: 'André' }),
  ])

  expect(args).toMatchObject({ status: 'rejected', reason: refused })
  expect(tags).toMatchObject({ status: 'rejected', reason: refused })
  expect(good).toMatchObject({ status: 'fulfilled' })
  await expect(sluice.operations.start(rename, { to: 'Анна' })).rejects.toMatchObject(refused)
  expect(await db.value(`select string_agg(args ->> 'to', ',') from sluice.job`)).toBe('André')
  expect(await db.value('select count(*)::int from sluice.operation')).toBe(0)
})
