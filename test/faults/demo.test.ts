import { readdir } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { expect, test } from 'vitest'
import { sluice, temporaryFolder } from '../cli/run-cli.ts'

const leftovers = async (): Promise<string[]> =>
  (await readdir(tmpdir())).filter((name) => name.startsWith('sluice-demo-'))

test('the demo kills a worker, verifies the result with SQL, and leaves nothing behind', async () => {
  await using folder = await temporaryFolder()
  const before = await leftovers()
  const { exitCode, stdout, stderr } = await sluice(['demo', '--rows', '50000'], { folder: folder.path })
  expect(stdout).toContain('deleted   30,000 of 50,000 rows')
  expect(stdout).toContain('verified  with SQL: 0 aged rows left, the same 20,000 fresh rows as before')
  expect(stdout).toMatch(/survived {2}worker \d+ killed at \d+ %; its batch \d+ taken over at the checkpoint after/)
  expect(stderr).toMatch(/killed worker \d+ with SIGKILL/)
  expect(stderr).toMatch(/batch \d+ taken over at its checkpoint/)
  expect(exitCode).toBe(0)
  expect(await leftovers()).toEqual(before)
  expect(await readdir(folder.path)).toEqual([])
})
