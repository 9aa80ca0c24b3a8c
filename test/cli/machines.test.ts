import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { testDatabase, type TestDatabase } from '../support/database.ts'
import { sluiceHere, temporaryFolder, type Ran } from './run-cli.ts'

const config = `import { defineJob, defineMachine, defineReconciler, sql } from 'sluice'
const numbers = { '~standard': { version: 1, vendor: 'test', validate: (value) =>
  typeof value?.id === 'number' ? { value } : { issues: [{ message: 'must be a number', path: ['id'] }] } } }
const finish = defineJob({ name: 'finish', args: numbers, unique: {}, perform: () => undefined })
export default {
  jobs: [finish],
  machines: [defineMachine({ name: 'reviews', table: 'reviews', states: {
    pending: { to: ['approved', 'rejected'], delay: '30m', perform: async () => 'approved' }, approved: {}, rejected: {} } })],
  reconcilers: [defineReconciler({ name: 'pending-reviews', job: finish, every: '5m',
    find: { table: 'reviews', where: sql\`state = 'pending'\`, olderThan: '2m', by: 'state_changed_at' },
    args: (row) => ({ id: row.id < 3 ? row.id : 'odd' }) })],
}`

interface Place extends AsyncDisposable {
  db: TestDatabase
  run(...args: string[]): Promise<Ran>
}

async function place(): Promise<Place> {
  const db = await testDatabase()
  const folder = await temporaryFolder()
  await writeFile(join(folder.path, 'sluice.config.ts'), config)
  await db.query(`create table reviews (id int primary key, state text not null,
    state_changed_at timestamptz not null default now() - interval '1 hour')`)
  return {
    db,
    run: (...args) => sluiceHere(args, { folder: folder.path, env: { DATABASE_URL: db.url } }),
    async [Symbol.asyncDispose]() {
      await folder[Symbol.asyncDispose]()
      await db[Symbol.asyncDispose]()
    },
  }
}

test('machines: list and show', async () => {
  await using at = await place()
  await at.db.query(`insert into reviews values (1, 'pending'), (2, 'pending'), (3, 'gone \u001B[31m')`)
  const list = await at.run('machines', 'list')
  expect(list).toMatchObject({ exitCode: 0, stderr: '' })
  expect(list.stdout).toMatch(/^machine +table +states\nreviews +reviews +pending, approved, rejected\n$/)
  const { exitCode, stdout, stderr } = await at.run('machines', 'show', 'reviews')
  expect(exitCode).toBe(0)
  expect(stdout).toMatch(/^state +rows +to\npending +2 +approved, rejected\napproved +0 +final\n/)
  expect(stdout).toContain('stateDiagram-v2\n  [*] --> pending\n  pending --> approved : after 30 min\n')
  expect(stdout).toContain(String.raw`gone \u001b[31m`)
  expect(stderr).toContain('a state that the machine does not know')
  expect(JSON.parse((await at.run('machines', 'show', 'reviews', '--json')).stdout)).toMatchObject({
    version: 1,
    machine: { name: 'reviews', counted: 'exact', states: [{ state: 'pending', rows: 2 }, {}, {}] },
  })
  expect(await at.run('machines', 'show', 'review')).toMatchObject({
    exitCode: 2,
    stderr: expect.stringContaining('Did you mean "reviews"?'),
  })
})

test('reconcilers: list and run', async () => {
  await using at = await place()
  await at.db.query(`insert into reviews select n, 'pending' from generate_series(1, 3) n`)
  expect((await at.run('reconcilers', 'list')).stdout).toMatch(
    /^reconciler .*\npending-reviews +5 min +never +0 +0 *\nreviews\.stuck +1 min +never/,
  )
  const ran = await at.run('reconcilers', 'run', 'pending-reviews')
  expect(ran.stdout).toBe('✓ pending-reviews: 3 records found, 2 jobs enqueued, 0 were there already\n')
  expect(ran.stderr).toContain('1 record has no job: The args of "finish" do not fit')
  const again = JSON.parse((await at.run('reconcilers', 'run', 'pending-reviews', '--json')).stdout)
  expect(again).toMatchObject({ version: 1, found: 3, enqueued: 0, duplicates: 2, refused: 1 })
  const { stdout } = await at.run('reconcilers', 'list')
  expect(stdout).toMatch(/\npending-reviews +5 min +\S.* +3 +0 +The args of "finish" do not fit/)
  expect(JSON.parse((await at.run('reconcilers', 'list', '--json')).stdout)).toMatchObject({
    version: 1,
    reconcilers: [{ name: 'pending-reviews', found: 3 }, { name: 'reviews.stuck' }],
  })
  expect(await at.run('reconcilers', 'run', 'pending')).toMatchObject({ exitCode: 2 })
})
