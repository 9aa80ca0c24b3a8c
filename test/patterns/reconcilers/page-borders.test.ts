import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineJob, defineReconciler, Sluice, sql } from '../../../src/index.ts'
import { testDatabase } from '../../support/database.ts'

const visit = defineJob({ name: 'visit', args: z.object({ id: z.number() }), unique: {}, perform: () => undefined })

test.each([
  ['share a key', 'least(id, 999)'],
  ['have no key', 'case when id < 400 then id end'],
  ['share a key or have none', 'case when id < 1500 then id / 700 end'],
  ['have a key each', 'id'],
  ['have no key at all', 'null::int'],
])('records that %s are all found, also where a page ends', async (_, key) => {
  await using db = await testDatabase()
  await db.query('create table records (id int primary key, grp int)')
  await db.query(`insert into records select id, ${key} from generate_series(1, 2500) id`)
  const reconciler = defineReconciler({
    name: 'visits',
    find: sql`select id, grp from records`,
    key: 'grp',
    job: visit,
    args: (row) => ({ id: Number(row['id']) }),
    every: '1h',
  })
  await using sluice = new Sluice({ database: db.workerUrl, jobs: [visit], reconcilers: [reconciler] })
  expect(await sluice.reconcilers.run(reconciler)).toMatchObject({ found: 2_500, enqueued: 2_500, duplicates: 0 })
})
