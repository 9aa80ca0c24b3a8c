import { expect, test } from 'vitest'
import { z } from 'zod'
import {
  anonymise,
  backfill,
  defineJob,
  defineOperation,
  defineReconciler,
  defineSweep,
  Sluice,
  sql,
  type OperationDefinition,
} from '../../src/index.ts'
import { testDatabase, type TestDatabase } from '../support/database.ts'
import { working } from '../support/working.ts'
import { sweeping } from '../patterns/sweeps/pastes.ts'

/** Rows 1 to 20, of which the first ten are old. */
async function people(): Promise<TestDatabase> {
  const db = await testDatabase()
  await db.query('create table people (id int primary key, old bool not null, name text, at timestamptz)')
  await db.query(`insert into people select i, i <= 10, 'A', now() - interval '1 day' from generate_series(1, 20) i`)
  return db
}

test.each<[string, OperationDefinition<undefined>]>([
  [
    'a scope',
    defineOperation({
      name: 'change',
      table: 'people',
      scope: () => sql`old -- those only`,
      perform: ({ batch }) => batch.update(sql`name = 'b'`),
    }),
  ],
  [
    'a change and its condition',
    defineOperation({
      name: 'change',
      table: 'people',
      perform: ({ batch }) => batch.update(sql`name = 'b' -- the letter`, sql`old -- those only`),
    }),
  ],
  [
    'the condition of a change',
    defineOperation({
      name: 'change',
      table: 'people',
      perform: ({ batch }) => batch.update(sql`name = 'b'`, sql`old -- those only`),
    }),
  ],
  [
    'a backfill',
    backfill({
      name: 'change',
      table: 'people',
      set: { name: sql`lower('B') -- small` },
      where: sql`old -- those only`,
    }),
  ],
  [
    'an anonymisation',
    anonymise({
      name: 'change',
      table: 'people',
      columns: { name: sql`lower('B') -- small` },
      where: sql`old -- those only`,
      olderThan: '1 hour',
      by: 'at',
    }),
  ],
])('a comment at the end of %s swallows nothing of what follows', async (_, operation) => {
  await using db = await people()
  await using sluice = working(db, [operation]).sluice
  await sluice.start()
  const { id } = await sluice.operations.start(operation)
  expect(await sluice.operations.wait(id, { everyMs: 50 })).toMatchObject({ state: 'finished' })
  expect(
    await db.query(`select name, count(*)::int as n, bool_and(old) as old from people group by 1 order by 1`),
  ).toEqual([
    { name: 'A', n: 10, old: false },
    { name: 'b', n: 10, old: true },
  ])
})

test('a comment at the end of what a sweep is made of swallows nothing of what follows', async () => {
  await using db = await people()
  const sweep = defineSweep<{ id: number; old: boolean; name: string }>({
    name: 'sweep',
    table: 'people',
    key: 'id',
    due: sql`old -- those only`,
    claim: 'table',
    finalise: { set: { old: sql`false -- no more`, name: 'b' } },
  })
  await using at = sweeping(db, [sweep])
  await at.sluice.start()
  await at.events.event('sweep.drained')
  expect(await db.query('select name, count(*)::int as n from people group by 1 order by 1')).toEqual([
    { name: 'A', n: 10 },
    { name: 'b', n: 10 },
  ])
})

const args = (row: Record<string, unknown>): { id: number } => ({ id: Number(row['id']) })

test.each([
  ['condition', { table: 'people', where: sql`old -- those only`, olderThan: '1h', by: 'at' } as const],
  ['select', sql`select * from people where old -- those only`],
])('a comment at the end of the %s of a reconciler swallows nothing of what follows', async (_, find) => {
  await using db = await people()
  const job = defineJob({ name: 'visit', args: z.object({ id: z.number() }), unique: {}, perform: () => undefined })
  const reconciler = defineReconciler({ name: 'visits', find, job, args, every: '1h' })
  await using sluice = new Sluice({ database: db.workerUrl, jobs: [job], reconcilers: [reconciler] })
  expect(await sluice.reconcilers.run(reconciler)).toMatchObject({ found: 10, enqueued: 10 })
})
