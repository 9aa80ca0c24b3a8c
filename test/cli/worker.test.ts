import { expect, test } from 'vitest'
import { testDatabase } from '../support/database.ts'
import { sluice, temporaryFolder } from './run-cli.ts'

test('a worker refuses a database without the schema, with exit code 4', async () => {
  await using db = await testDatabase()
  await using folder = await temporaryFolder()
  await sluice(['init'], { folder: folder.path })
  const env = { DATABASE_URL: db.url }
  const { exitCode, stderr } = await sluice(['worker', '--schema', 'missing'], { folder: folder.path, env })
  expect(JSON.parse(stderr)).toMatchObject({ code: 'SCHEMA_MISSING' })
  expect(exitCode).toBe(4)
})
