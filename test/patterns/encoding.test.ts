// Errors with characters that the database cannot store: what happened must be written down all the same.
import { expect, test } from 'vitest'
import { z } from 'zod'
import {
  defineJob,
  defineReconciler,
  defineSchedule,
  defineSweep,
  Sluice,
  sql,
  type SluiceConfig,
} from '../../src/index.ts'
import { jobProfile } from '../support/jobs.ts'
import { latinDatabase } from '../support/latin.ts'
import { until } from '../support/wait.ts'

const finish = defineJob({ name: 'finish', args: z.object({ id: z.string() }), unique: {}, perform: () => undefined })

/** A process on a database that stores the letters of western Europe and no others, with a table of notes. */
async function latin(
  config: SluiceConfig,
): Promise<AsyncDisposable & { sluice: Sluice; value(text: string): Promise<unknown> }> {
  // Of this one we do not know which letters it has, beside those of ASCII.
  const db = await latinDatabase('LATIN9')
  const sluice = new Sluice({ ...jobProfile(), database: db.url, ...config })
  await sluice.migrate()
  await db.value(`create table notes (id text primary key, status text not null default 'new', nonce uuid,
    claimed_at timestamptz, worker text, changed_at timestamptz not null default now() - interval '1 hour')`)
  await db.value(`insert into notes (id) values ('é')`)
  return {
    sluice,
    value: (text) => db.value(text),
    async [Symbol.asyncDispose]() {
      await sluice.stop()
      await db[Symbol.asyncDispose]()
    },
  }
}

test('a row whose effect fails with an error that cannot be stored as it is is tried again', async () => {
  let calls = 0
  const sweep = defineSweep<Record<'id' | 'status' | 'nonce' | 'claimed_at' | 'worker', string>>({
    name: 'sweep',
    table: 'notes',
    key: 'id',
    due: sql`true`,
    order: ['id'],
    claim: {
      columns: { status: 'status', nonce: 'nonce', claimedAt: 'claimed_at', worker: 'worker' },
      from: 'new',
      to: 'going',
    },
    interval: '100ms',
    attempts: 2,
    effect() {
      calls += 1
      throw new Error('строка é')
    },
  })
  await using at = await latin({ sweeps: [sweep] })
  await at.sluice.start()

  await until('it is isolated', async () => (await at.sluice.sweeps.quarantined('sweep')).length === 1)

  expect(await at.sluice.sweeps.quarantined('sweep')).toMatchObject([{ key: ['é'], error: { message: '?????? ?' } }])
  expect(calls).toBe(2)
})

test('why a reconciler failed is kept, also where it cannot be stored as it is', async () => {
  const reconciler = defineReconciler({
    name: 'reconciler',
    find: { table: 'notes', where: sql`status = 'new'`, olderThan: '2m', by: 'changed_at' },
    job: finish,
    args() {
      throw new Error('строка')
    },
  })
  await using at = await latin({ jobs: [finish], reconcilers: [reconciler] })

  await at.sluice.reconcilers.run('reconciler')

  expect(await at.sluice.reconcilers.list()).toMatchObject([{ error: { message: '??????' }, running: false }])
})

test('a tick of a schedule that fails is settled, also where its error cannot be stored as it is', async () => {
  const schedule = defineSchedule({
    name: 'each-second',
    cron: '* * * * * *',
    job: finish,
    args() {
      throw new Error('строка')
    },
  })
  await using at = await latin({ jobs: [finish], schedules: [schedule] })
  await at.sluice.start()

  await until('a tick has failed', async () => {
    return (await at.value(`select reason from sluice.schedule_tick where outcome = 'failed'`)) === '??????'
  })
})
