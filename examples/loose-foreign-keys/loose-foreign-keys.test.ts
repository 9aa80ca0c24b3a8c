import { readFile } from 'node:fs/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Sluice, type OperationStatus } from '../../src/index.ts'
import { testDatabase, type TestDatabase } from '../../test/support/database.ts'
import { cleanUpChildren } from './operations.ts'
import config from './sluice.config.ts'

let db: TestDatabase
let sluice: Sluice

beforeAll(async () => {
  db = await testDatabase()
  sluice = new Sluice({ ...config, database: db.workerUrl, worker: { poll: '50ms' } })
  await db.query(await readFile(new URL('schema.sql', import.meta.url), 'utf8'))
  // 100 projects with 5 issues and 2 merge requests each; the last one has 1,200 issues more.
  await db.query('insert into projects select from generate_series(1, 100)')
  await db.query('insert into issues (project_id) select 1 + n % 100 from generate_series(0, 499) n')
  await db.query('insert into issues (project_id) select 100 from generate_series(1, 1200)')
  await db.query('insert into merge_requests (target_project_id) select 1 + n % 100 from generate_series(0, 199) n')
})

afterAll(async () => {
  await sluice.stop()
  await db[Symbol.asyncDispose]()
})

const orphans = (): Promise<number> =>
  db.value(`select (select count(*) from issues where project_id not in (select id from projects))::int
    + (select count(*) from merge_requests where target_project_id not in (select id from projects))::int`)

const children = (): Promise<object[]> =>
  db.query(`select (select count(*) from issues)::int as issues, (select count(*) from merge_requests)::int as merges`)

async function run(): Promise<OperationStatus> {
  const { id } = await sluice.operations.start(cleanUpChildren)
  return sluice.operations.wait(id, { everyMs: 20 })
}

test('children of deleted projects go, also of those that are deleted after the start', async () => {
  await db.query('delete from projects where id <= 30')
  expect(await orphans()).toBe(210)
  const { id } = await sluice.operations.start(cleanUpChildren)
  // A new partition has begun meanwhile.
  await db.query('alter table deleted_projects alter column partition set default 2')
  await db.query('delete from projects where id between 31 and 35')
  await sluice.start()

  const status = await sluice.operations.wait(id, { everyMs: 20 })

  expect(status).toMatchObject({ state: 'finished', rowsSeen: 35, rowsMatched: 35, rowsChanged: 35 * 7 })
  expect(await orphans()).toBe(0)
  expect(await children()).toEqual([{ issues: 500 - 35 * 5 + 1_200, merges: 200 - 35 * 2 }])
  expect(
    await db.query(`select partition, count(*)::int as done from deleted_projects
    where status = 'processed' group by partition order by partition`),
  ).toEqual([
    { partition: 1, done: 30 },
    { partition: 2, done: 5 },
  ])
})

test('a project with many children takes as many runs as it needs, none of them long', async () => {
  await db.query('delete from projects where id = 100')
  expect(await run()).toMatchObject({ state: 'finished', rowsMatched: 1, rowsChanged: 500 + 2 })
  expect(await run()).toMatchObject({ state: 'finished', rowsMatched: 1, rowsChanged: 500 })
  expect(await run()).toMatchObject({ state: 'finished', rowsMatched: 1, rowsChanged: 205 })
  expect(await orphans()).toBe(0)
})

test('with nothing to clean up, a run changes nothing', async () => {
  const before = await children()
  expect(await run()).toMatchObject({ state: 'finished', rowsMatched: 0, rowsChanged: 0 })
  expect(await children()).toEqual(before)
  expect(await db.value(`select count(*)::int from deleted_projects where status = 'pending'`)).toBe(0)
})
