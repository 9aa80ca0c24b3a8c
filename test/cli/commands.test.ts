import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { printMigrations } from '../../src/index.ts'
import { testDatabase } from '../support/database.ts'
import { sluice, sluiceHere, temporaryFolder } from './run-cli.ts'

test('migrate --sql prints the script and needs no database', async () => {
  const whole = await sluice(['migrate', '--sql'])
  expect(whole).toEqual({ exitCode: 0, stdout: `${(await printMigrations('sluice')).trimEnd()}\n`, stderr: '' })
  const rest = await sluiceHere(['migrate', '--sql', '--from', '2', '--schema', 'ops', '--json'])
  expect(JSON.parse(rest.stdout)).toEqual({ version: 1, sql: await printMigrations('ops', 2) })
  const beyond = await sluice(['migrate', '--sql', '--from', '999'])
  expect(beyond).toMatchObject({ exitCode: 4, stdout: '', stderr: expect.stringContaining('SCHEMA_AHEAD') })
})

test('a schema name that is not plain gets into no script', async () => {
  const { exitCode, stdout } = await sluiceHere(['grants', '--schema', 'x"; drop table y; --'])
  expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' })
})

test('no command uses the embedded server in production', async () => {
  await using folder = await temporaryFolder()
  const { exitCode, stderr } = await sluiceHere(['migrate'], { folder: folder.path, env: { NODE_ENV: 'production' } })
  expect(stderr).toContain('EMBEDDED_FORBIDDEN')
  expect(exitCode).toBe(6)
})

test('a worker without a configuration file says how to get one', async () => {
  await using folder = await temporaryFolder()
  const { exitCode, stderr } = await sluiceHere(['worker'], { folder: folder.path })
  expect(stderr).toContain('sluice init')
  expect(exitCode).toBe(2)
})

test('migrate --check fails while something is pending, migrate applies it, and applies nothing twice', async () => {
  await using db = await testDatabase()
  const env = { DATABASE_URL: db.url }
  const fresh = ['--schema', 'fresh']
  const pending = await sluiceHere(['migrate', '--check', ...fresh], { env })
  expect(pending).toMatchObject({
    exitCode: 4,
    stdout: expect.stringMatching(/^operations$[^]*^functions\/operations$/m),
  })
  expect(await sluice(['migrate', ...fresh], { env })).toMatchObject({ exitCode: 0, stdout: pending.stdout })
  expect(await sluiceHere(['migrate', ...fresh], { env })).toMatchObject({ exitCode: 0, stdout: '' })
  expect(await sluiceHere(['migrate', '--check', ...fresh], { env })).toMatchObject({ exitCode: 0, stdout: '' })
})

test('doctor passes with a migrated schema and ends with 4 without one', async () => {
  await using db = await testDatabase()
  const env = { DATABASE_URL: db.url }
  const { stdout } = await sluice(['doctor', '--json'], { env })
  expect(JSON.parse(stdout).findings).toContainEqual(expect.objectContaining({ check: 'schema', level: 'ok' }))
  const missing = await sluiceHere(['doctor', '--schema', 'missing'], { env })
  expect(missing.stdout).toMatch(/✗ schema .*\n\s+→ Run "sluice migrate"/)
  expect(missing.exitCode).toBe(4)
})

const config = `import { expire } from 'sluice'
export default {
  operations: [expire({ name: 'expire-events', table: 'events', olderThan: '90 days', by: 'created_at' })],
}`

test('ops start records an operation once, and ops show tells where it stands', async () => {
  await using db = await testDatabase()
  await using folder = await temporaryFolder()
  await writeFile(join(folder.path, 'sluice.config.ts'), config)
  await db.query('create table events (id bigint primary key, created_at timestamptz not null)')
  const env = { DATABASE_URL: db.url }
  const setting = { folder: folder.path, env }
  const ops = (...args: string[]) => sluiceHere(['ops', ...args], setting)

  const first = await sluice(['ops', 'start', 'expire-events', '--actor', 'someone'], setting)
  const id = first.stdout.trim()
  const again = JSON.parse((await ops('start', 'expire-events', '--json')).stdout)
  expect(again).toMatchObject({ version: 1, id, duplicate: true })
  expect((await ops('show', id)).stdout).toMatch(/^expire-events is queued: .*\n.*state +queued/s)
  const shown = JSON.parse((await ops('show', id, '--json')).stdout)
  expect(shown).toMatchObject({ version: 1, operation: { id, actor: 'someone', state: 'queued', progress: null } })
  expect(await ops('start', 'expire-event')).toMatchObject({
    exitCode: 2,
    stderr: expect.stringContaining('Did you mean'),
  })
  expect(await ops('start', 'expire-events', '--args', '{')).toMatchObject({ exitCode: 2 })
  expect(await ops('show', 'nonsense')).toMatchObject({ exitCode: 1 })
})
