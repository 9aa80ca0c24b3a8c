import { execFile } from 'node:child_process'
import { chmod, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import pg from 'pg'
import { expect, test } from 'vitest'
import { startEmbedded } from '../../src/embedded/index.ts'

/** The program with the built package in the place of its source: to compile that takes half a minute the first time. */
async function copyProgram(folder: string): Promise<string> {
  const built = new URL('../../dist/', import.meta.url).href
  for (const file of ['main.ts', 'operations.ts', 'sluice.config.ts']) {
    const text = await readFile(new URL(file, import.meta.url), 'utf8')
    await writeFile(join(folder, file), text.replaceAll(/'\.\.\/\.\.\/src\/(.*)\.ts'/g, `'${built}$1.js'`))
  }
  await symlink(fileURLToPath(new URL('../../node_modules', import.meta.url)), join(folder, 'node_modules'))
  return join(folder, 'main.ts')
}

// On a server of its own, as a newcomer runs it: on one that other tests keep busy, the governor would make it wait.
test('the program deletes the events that are older than 90 days, and says so', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-example-'))
  await chmod(folder, 0o755)
  try {
    const main = await copyProgram(folder)
    const { stdout } = await promisify(execFile)(
      process.execPath,
      ['--import', import.meta.resolve('jiti/register'), main],
      {
        cwd: folder,
        env: { ...process.env, DATABASE_URL: undefined, SLUICE_DATABASE_URL: undefined },
      },
    )
    expect(stdout).toBe('finished: 5500 events deleted\nexactly those older than 90 days\n')

    await using server = await startEmbedded({ dataDir: join(folder, '.sluice/postgres') })
    const client = new pg.Client({ connectionString: server.url })
    await client.connect()
    const { rows: left } = await client.query(
      `select count(*)::int as rows, bool_and(created_at > now() - interval '90 days') as fresh from example_events`,
    )
    const { rows: done } = await client.query(`select name, status, rows_changed::int from sluice.operation_history`)
    await client.end()
    expect(left).toEqual([{ rows: 4_500, fresh: true }])
    expect(done).toEqual([{ name: 'expire-example-events', status: 'finished', rows_changed: 5_500 }])
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
})
