import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { expire, Sluice } from '../../src/index.ts'
import { testDatabase } from '../support/database.ts'
import { sluiceHere as run, temporaryFolder } from './run-cli.ts'

test("a tenant's operations leave by a file and arrive by it, and the file is never overwritten", async () => {
  await using here = await testDatabase()
  await using there = await testDatabase()
  await here.query('create table events (id bigint primary key, at timestamptz not null)')
  const old = expire({ name: 'old', table: 'events', by: 'at', olderThan: '1 day' })
  await using sluice = new Sluice({ database: here.url })
  const { id } = await sluice.operations.start(old, undefined, { tenant: 'acme' })
  await using folder = await temporaryFolder()
  const file = join(folder.path, 'acme.json')

  const given = await run(['tenants', 'export', 'acme', '--out', file, '--database', here.url])
  expect(given).toMatchObject({ exitCode: 0, stderr: expect.stringContaining('1 operation of "acme" ended here') })
  expect(JSON.parse(await readFile(file, 'utf8'))).toMatchObject({
    version: 1,
    tenant: 'acme',
    operations: [{ operation: { id } }],
  })
  const again = await run(['tenants', 'export', 'acme', '--out', file, '--database', here.url])
  expect(again).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('cannot be used') })

  const taken = await run(['tenants', 'import', file, '--database', there.url])
  expect(taken).toMatchObject({ exitCode: 0, stdout: `${id}\n` })
  expect(await there.value('select count(*)::int from sluice.operation')).toBe(1)
})
