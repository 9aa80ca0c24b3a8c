import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { testDatabase, type TestDatabase } from '../support/database.ts'
import { openClient } from '../support/jobs.ts'
import { until } from '../support/wait.ts'
import { sluice, sluiceHere, startSluice, temporaryFolder, type Ran, type Running } from './run-cli.ts'

const config = `import { defineJob, defineOperation, sql } from 'sluice'
const count = defineOperation({ name: 'count', table: 'notes', perform: ({ batch }) => batch.update(sql\`n = n + 1\`) })
export default { operations: process.env.OTHERS ? [] : [count], jobs: [defineJob({ name: 'other', perform: () => 0 })] }`

interface Place extends AsyncDisposable {
  db: TestDatabase
  run(...words: string[]): Promise<Ran>
  spawn(words: string[], env?: Record<string, string>): Running
}

/** A project with an operation, and nobody who works on it. */
async function place(): Promise<Place> {
  const db = await testDatabase()
  const folder = await temporaryFolder()
  await writeFile(join(folder.path, 'sluice.config.mjs'), config)
  await db.query('create table notes (id bigint primary key, n int not null default 0)')
  await db.query('insert into notes select generate_series(1, 20)')
  const setting = { folder: folder.path, env: { DATABASE_URL: db.url } }
  return {
    db,
    run: (...words) => sluiceHere(words, setting),
    spawn: (words, env = {}) => startSluice(words, { ...setting, env: { ...setting.env, ...env } }),
    async [Symbol.asyncDispose]() {
      await folder[Symbol.asyncDispose]()
      await db[Symbol.asyncDispose]()
    },
  }
}

test.each([['start'], ['watch']])(
  'Ctrl-C in ops %s says that the operation is not over, and how to find it again',
  async (command) => {
    await using at = await place()
    const { stdout } = await at.run('ops', 'start', 'count')
    // An equal one is not started twice: it is waited for.
    const words = command === 'start' ? ['ops', 'start', 'count', '--wait'] : ['ops', 'watch', stdout.trim()]
    using watching = at.spawn(words)
    await until('it shows how far it is', () => watching.ran.stderr.includes('rows seen'))
    watching.kill('SIGINT')
    const { exitCode, stderr } = await watching.ended
    expect(exitCode).toBe(130)
    expect(stderr).toMatch(
      new RegExp(
        `\ncount is not over\\.\n +watch it: +sluice ops watch ${stdout.trim()}\n +stop it: +sluice ops pause ${stdout.trim()}\nstopped by SIGINT\n$`,
      ),
    )
    expect(await at.db.value('select status from sluice.operation')).toBe('queued')
  },
)

test('Ctrl-C while workers are at it says that the operation goes on', async () => {
  await using at = await place()
  using worker = at.spawn(['worker'])
  await until('the worker is there', async () => (await at.db.value('select count(*)::int from sluice.worker')) === 1)
  // Somebody has a row, so that it does not end.
  await using holder = await openClient(at.db.url)
  await holder.query('begin')
  await holder.query('select from notes where id = 20 for update')
  using watching = at.spawn(['ops', 'start', 'count', '--wait'])
  await until('it is at work', () => watching.ran.stderr.includes('rows seen'))
  watching.kill('SIGINT')
  const { stderr } = await watching.ended
  expect(stderr).toContain('\ncount goes on without this command.\n')
  await holder.query('rollback')
  await until('it has ended', async () => (await at.db.value('select min(n) from notes')) === 1)
  worker.kill('SIGTERM')
  await worker.ended
})

test('start and watch say that nobody works on it, and what to run', async () => {
  await using at = await place()
  const started = await at.run('ops', 'start', 'count')
  const id = started.stdout.trim()
  expect(started.stderr).toBe(
    `count is recorded. Watch it with: sluice ops watch ${id}\n` +
      'warning: no worker is running: count waits until one is. Start one with: sluice worker\n',
  )
  using other = at.spawn(['worker'], { OTHERS: '1' })
  await until('the worker is there', async () => (await at.db.value('select count(*)::int from sluice.worker')) === 1)
  using watching = at.spawn(['ops', 'watch', id])
  await until('it says so', () => watching.ran.stderr.includes('\n'))
  expect(watching.ran.stderr).toMatch(/^warning: no running worker knows count: .* with: sluice worker\n/)
  other.kill('SIGTERM')
  await other.ended
})

test('a wrong password is told as such', async () => {
  await using db = await testDatabase()
  const url = new URL(db.url)
  url.password = 's3cret'
  const { exitCode, stderr } = await sluice(['ops', 'list'], { env: { DATABASE_URL: url.href } })
  expect(exitCode).toBe(3)
  expect(stderr).toMatch(
    /^error: The database server refuses the connection: password authentication failed for user "\w+"\. Check user and password in the connection settings\. \(DATABASE_REFUSED\)\n$/,
  )
})
