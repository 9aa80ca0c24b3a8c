import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { userInfo } from 'node:os'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { defineOperation, Sluice } from '../../src/index.ts'
import { testDatabase, type TestDatabase } from '../support/database.ts'
import { until } from '../support/wait.ts'
import { sluiceHere, temporaryFolder, type Ran } from './run-cli.ts'

const main = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url))

// Each test runs the command line many times, which takes a second each on a busy machine.
const config = `import { setTimeout } from 'node:timers/promises'
import { defineOperation, sql } from 'sluice'
const change = ({ batch }) => batch.update(sql\`n = raw::int\`)
export default {
  worker: { poll: '100ms' },
  operations: [
    defineOperation({ name: 'parse-notes', table: 'notes', lanes: 2, scope: () => sql\`n is null\`, perform: change }),
    defineOperation({ name: 'forget-notes', table: 'notes', approval: true, conflicts: 'none', perform: change }),
    defineOperation({ name: 'slow-notes', table: 'notes', subBatchSize: 1, perform: () => setTimeout(200) }),
  ],
}`

/** Enough of the same to start them. */
const definitions = [
  defineOperation({ name: 'parse-notes', table: 'notes', lanes: 2, perform: async () => undefined }),
  defineOperation({ name: 'forget-notes', table: 'notes', approval: true, conflicts: 'none', perform: async () => 0 }),
  defineOperation({ name: 'slow-notes', table: 'notes', perform: async () => undefined }),
]

interface Place extends AsyncDisposable {
  folder: string
  db: TestDatabase
  ops(...args: string[]): Promise<Ran>
  json(...args: string[]): Promise<unknown>
  start(name: string, tenant?: string): Promise<string>
}

/** A project with two operations and a small table, of which one row cannot be processed. */
async function place(): Promise<Place> {
  const db = await testDatabase()
  const folder = await temporaryFolder()
  await writeFile(join(folder.path, 'sluice.config.ts'), config)
  await db.query('create table notes (id bigint primary key, raw text not null, n int)')
  await db.query(
    `insert into notes select i, case i when 7 then 'seven' else i::text end from generate_series(1, 20) i`,
  )
  await db.query('analyze notes')
  const ops = (...args: string[]) =>
    sluiceHere(['ops', ...args], { folder: folder.path, env: { DATABASE_URL: db.url } })
  const api = new Sluice({ database: db.url, operations: definitions })
  return {
    folder: folder.path,
    db,
    ops,
    start: async (name, tenant) =>
      (await api.operations.startByName(name, undefined, tenant === undefined ? {} : { tenant })).id,
    json: async (...args) => JSON.parse((await ops(...args, '--json')).stdout),
    async [Symbol.asyncDispose]() {
      await api.stop()
      await folder[Symbol.asyncDispose]()
      await db[Symbol.asyncDispose]()
    },
  }
}

test('plan tells what a start would do, and writes nothing', async () => {
  await using at = await place()
  const { stdout, stderr, exitCode } = await at.ops('plan', 'parse-notes', '--min', '[5]')
  expect(stdout).toMatch(/^parse-notes would walk public\.notes: about 15 rows, 1 batch\n/)
  expect(stdout).toMatch(/from +after 5\n +to +20, included\n +scope +n is null\n +in scope +about 15 rows \(100 %\)/)
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: expect.stringContaining('Nothing was written') })
  expect(await at.json('plan', 'parse-notes', '--max', '[3]')).toMatchObject({
    version: 1,
    plan: { name: 'parse-notes', cursor: ['id'], from: null, to: ['3'], estimate: { rowsToSee: 3, rowsToChange: 3 } },
  })
  expect(await at.json('list')).toEqual({ version: 1, operations: [], standstill: null })
})

test('list shows operations in a table, and says what to do when there is none', async () => {
  await using at = await place()
  const none = await at.ops('list', '--name', 'parse-notes')
  expect(none).toEqual({
    exitCode: 0,
    stdout: '',
    stderr: expect.stringMatching(/no operation of parse-notes\. Start/),
  })
  const id = await at.start('parse-notes')
  const waiting = await at.ops('start', 'forget-notes', '--tenant', 'acme')
  expect(waiting.stderr).toContain('waits for approval')
  const [head, first, second] = (await at.ops('list')).stdout.split('\n')
  expect(head).toMatch(/^id +name +tenant +state +done +changed +since$/)
  expect(first).toMatch(new RegExp(`^${id}  parse-notes   –       queued, parked      0 % `))
  expect(second).toMatch(/ acme {4}awaiting approval /)
  const listed = await at.json('list', '--tenant', 'acme')
  expect(listed).toMatchObject({ version: 1, operations: [{ name: 'forget-notes', state: 'awaiting_approval' }] })
  expect((await at.ops('list', '--limit', '1')).stderr).toContain('Only the first 1')
})

test('pause, resume and set steer an operation', async () => {
  await using at = await place()
  const id = await at.start('parse-notes')
  const paused = await at.ops('pause', id, '--reason', 'lunch')
  expect(paused).toEqual({ exitCode: 0, stdout: '! parse-notes is paused: lunch\n', stderr: '' })
  expect((await at.ops('show', id)).stdout).toMatch(
    /^parse-notes is paused: lunch\n.*state +paused, 0 %\n +reason +lunch/s,
  )
  const actor = await at.db.value('select status_actor from sluice.operation where id = $1', [id])
  expect(actor).toBe(userInfo().username)
  const resumed = await at.json('resume', id, '--actor', 'ann')
  expect(resumed).toMatchObject({ version: 1, operation: { id, state: 'queued' } })

  const set = await at.ops('set', id, '--lanes', '4', '--pace', '0.5', '--priority', 'normal')
  expect(set.stdout).toBe('parse-notes\n  lanes     2 → 4\n  pace      100 % → 50 %\n  priority  normal, as before\n')
  expect(await at.json('set', id, '--sub-batch-size', '10')).toMatchObject({
    version: 1,
    before: { lanes: 4, pace: 0.5, subBatchSize: 100000, priority: 'normal' },
    operation: { subBatchSize: 10 },
  })
})

test('approve lets an operation begin, and nothing else does', async () => {
  await using at = await place()
  const waiting = await at.start('forget-notes')
  expect(await at.ops('pause', waiting)).toMatchObject({
    exitCode: 6,
    stderr: expect.stringContaining('awaiting approval'),
  })
  expect((await at.ops('approve', waiting)).stdout).toMatch(/forget-notes is queued/)
})

test('cancel needs a confirmation, which nobody can give here, or --yes', async () => {
  await using at = await place()
  const id = await at.start('parse-notes')
  const asked = await at.ops('cancel', id)
  expect(asked).toEqual({
    exitCode: 5,
    stdout: '',
    stderr: expect.stringMatching(/ends parse-notes .*--yes.*UNCONFIRMED/),
  })
  expect(await at.json('cancel', id)).toMatchObject({ version: 1, error: { code: 'UNCONFIRMED' } })
  expect(await at.json('show', id)).toMatchObject({ operation: { state: 'queued' } })
  expect(await at.ops('cancel', id, '--yes')).toMatchObject({
    exitCode: 0,
    stdout: expect.stringMatching(/^! parse-notes was cancelled after .*: 0 rows changed before\n$/),
  })
  expect(await at.ops('cancel', id)).toMatchObject({ exitCode: 0 })
  expect(await at.ops('watch', id)).toMatchObject({ exitCode: 1, stdout: expect.stringContaining('was cancelled') })
})

test('disable is the kill switch of a definition until enable', async () => {
  await using at = await place()
  const id = await at.start('parse-notes')
  const disabled = await at.ops('disable', 'parse-notes', '--reason', 'locks')
  expect(disabled).toMatchObject({ exitCode: 0, stdout: '! parse-notes is disabled: 1 unfinished run stopped\n' })
  expect((await at.ops('show', id)).stdout).toMatch(/^parse-notes is queued: its definition is disabled\n/)
  expect((await at.ops('list')).stdout).toContain('queued, disabled')
  const another = await at.ops('start', 'parse-notes', '--tenant', 'acme')
  expect(another).toMatchObject({ exitCode: 0, stderr: expect.stringContaining('but disabled') })
  expect(await at.json('enable', 'parse-notes')).toEqual({
    version: 1,
    name: 'parse-notes',
    disabled: false,
    unfinished: 2,
  })
  expect((await at.ops('disable', 'parse-note')).stderr).toContain('Did you mean "parse-notes"?')
})

test('disable --all stops every operation until enable --all, and tells who, why and since when', async () => {
  await using at = await place()
  const id = await at.start('parse-notes')
  const disabled = await at.ops('disable', '--all', '--reason', 'failover', '--actor', 'ada')
  expect(disabled).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('all operations are disabled') })
  const said = /all operations are disabled by ada for [^:]* now: failover/
  expect((await at.ops('show', id)).stdout).toMatch(said)
  expect((await at.ops('list')).stdout.split('\n')[0]).toMatch(said)
  expect((await at.ops('start', 'slow-notes')).stderr).toContain('sluice ops enable --all')
  expect(await at.json('list')).toMatchObject({ standstill: { reason: 'failover', actor: 'ada' } })
  expect(await at.ops('enable', '--all')).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('go') })
  expect(await at.json('enable', '--all')).toEqual({ version: 1, standstill: null, ended: false })
  for (const wrong of [['disable'], ['disable', 'parse-notes', '--all'], ['enable']]) {
    expect(await at.ops(...wrong)).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('or say --all') })
  }
})

test('finalize ends an operation; what it quarantined is shown, and can be retried', async () => {
  await using at = await place()
  const id = await at.start('parse-notes')
  const finalized = await at.ops('finalize', id)
  expect(finalized).toMatchObject({
    exitCode: 0,
    stdout: expect.stringMatching(/^! parse-notes finished with quarantine: 19 of 20 rows .*, 1 row could not/),
  })
  const { stdout, stderr } = await at.ops('show', id)
  expect(stdout).toMatch(/of these +19 changed, 0 skipped, 1 quarantined\n/)
  expect(stdout).toMatch(/\n {2}quarantined +first key +error\n +1 +7 +invalid input syntax .*"seven" \(22P02\)\n$/)
  expect(stderr).toContain(`sluice ops quarantine ${id}`)
  expect((await at.ops('quarantine', id)).stdout).toMatch(/^key +rows +batch +since +error\n7 +1 +\d+ .*"seven"/)
  expect(await at.json('quarantine', id)).toMatchObject({
    version: 1,
    ranges: [{ to: ['7'], rows: 1, error: { code: '22P02' }, fingerprint: expect.any(String) }],
  })
  expect(await at.json('show', id)).toMatchObject({
    operation: { state: 'finished_with_quarantine' },
    quarantine: [{ rows: 1, ranges: 1, firstKey: ['7'] }],
  })

  await at.db.query(`update notes set raw = '7' where id = 7`)
  expect(await at.ops('retry', id)).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('is queued') })
  expect(await at.json('finalize', id)).toMatchObject({ version: 1, operation: { state: 'finished', rowsChanged: 20 } })
  expect(await at.db.value('select count(*)::int from notes where n = id')).toBe(20)
  expect((await at.ops('quarantine', id)).stderr).toBe('Nothing of parse-notes is quarantined.\n')
  expect(await at.ops('retry', id)).toMatchObject({ exitCode: 6, stderr: expect.stringContaining('OPERATION_STATE') })
  expect(await at.ops('watch', id)).toMatchObject({
    exitCode: 0,
    stdout: expect.stringMatching(/^✓ parse-notes finished/),
  })
})

test('a failed operation ends watch with 1', async () => {
  await using at = await place()
  const id = await at.start('parse-notes')
  await at.db.query('alter table notes drop column n')
  const finalized = await at.ops('finalize', id)
  expect(finalized).toMatchObject({ exitCode: 1, stdout: expect.stringMatching(/^✗ parse-notes failed after .*"n"/) })
  expect(await at.ops('watch', id)).toMatchObject({ exitCode: 1 })
})

test('finalize refuses what waits for approval', async () => {
  await using at = await place()
  const id = await at.start('forget-notes')
  expect(await at.ops('finalize', id)).toMatchObject({ exitCode: 6, stdout: '' })
})

test('finalize gives back what it holds when it is interrupted', async () => {
  await using at = await place()
  const id = await at.start('slow-notes')
  const child = spawn(process.execPath, [main, 'ops', 'finalize', id], {
    cwd: at.folder,
    env: { PATH: process.env['PATH'] ?? '', DATABASE_URL: at.db.url },
    stdio: 'ignore',
  })
  const exited = once(child, 'exit')
  const running = () => at.db.value<boolean>(`select exists (select from sluice.batch where state = 'running')`)
  await until('a batch runs', running)
  child.kill('SIGINT')
  expect(await exited).toEqual([130, null])
  expect(await running()).toBe(false)
  expect(await at.db.value('select count(*)::int from sluice.operation where id = $1', [id])).toBe(1)
})
