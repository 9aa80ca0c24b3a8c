import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { testDatabase } from '../../test/support/database.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const main = fileURLToPath(new URL('main.ts', import.meta.url))

test('the program deletes the events that are older than 90 days, and says so', async () => {
  await using db = await testDatabase()
  const env = { ...process.env, DATABASE_URL: db.url, SLUICE_DATABASE_URL: undefined }

  const { stdout } = await promisify(execFile)(process.execPath, ['--import', 'jiti/register', main], {
    cwd: root,
    env,
  })

  expect(stdout).toBe('finished: 5500 events deleted\nexactly those older than 90 days\n')
  const left = await db.query(
    `select count(*)::int as rows, bool_and(created_at > now() - interval '90 days') as fresh from example_events`,
  )
  expect(left).toEqual([{ rows: 4_500, fresh: true }])
  expect(await db.query(`select name, status, rows_changed::int from sluice.operation_history`)).toEqual([
    { name: 'expire-example-events', status: 'finished', rows_changed: 5_500 },
  ])
})
