import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { pastes } from '../patterns/sweeps/pastes.ts'
import { nasty } from './job-place.ts'
import { sluiceHere, temporaryFolder } from './run-cli.ts'

// Each test runs the command line many times, which takes a second each on a busy machine.
const config = `import { defineSweep, sql } from 'sluice'
export default {
  sweeps: [
    defineSweep({ name: 'expire-pastes', table: 'pastes', key: 'short_code', due: sql\`expires_at < now()\`, claim: 'table' }),
  ],
}`

test('list, show and run tell where sweeps stand, what is isolated, and what is not a sweep', async () => {
  await using db = await pastes(3)
  await using folder = await temporaryFolder()
  await writeFile(join(folder.path, 'sluice.config.ts'), config)
  const run = (...args: string[]) =>
    sluiceHere(['sweeps', ...args, '--no-color'], { folder: folder.path, env: { DATABASE_URL: db.url } })
  await db.query(
    `insert into sluice.sweep (name, held_until, held_reason) values ('expire-pastes', now() + interval '1 h', 'it is down')`,
  )
  await db.query(
    `insert into sluice.sweep_claim (sweep, key, generation, nonce, attempts, quarantined_at, error)
     values ('expire-pastes', '{p2}', gen_random_uuid(), gen_random_uuid(), 10, now(), $1)`,
    [JSON.stringify({ name: 'TypeError', message: nasty })],
  )

  const listed = await run('list')
  expect(listed).toMatchObject({ exitCode: 0, stderr: '' })
  expect(listed.stdout).toMatch(/^sweep +table +claimed +waiting +isolated +note\n/)
  expect(listed.stdout).toMatch(/\nexpire-pastes +pastes +0 +0 +1 +held until \S+Z: it is down\n$/)

  const shown = await run('show', 'expire-pastes')
  expect(shown.stdout).toMatch(
    /^sweep expire-pastes on pastes: 2 rows are due, 0 claimed, 0 to be tried again, 1 isolated; held until \S+Z: it is down\n/,
  )
  expect(shown.stdout).toContain(String.raw`TypeError: bad \u001b[31mred\u009b2J\u202eend`)
  expect(JSON.parse((await run('show', 'expire-pastes', '--json')).stdout)).toMatchObject({
    version: 1,
    sweep: { name: 'expire-pastes', due: 2, quarantinedRows: [{ key: ['p2'], attempts: 10 }] },
  })

  expect((await run('run', 'expire-pastes')).stdout).toBe(
    '✓ sweep expire-pastes on pastes: 2 rows are due, 0 claimed, 0 to be tried again, 1 isolated\n',
  )
  expect(await run('run', 'expire-paste')).toMatchObject({
    exitCode: 2,
    stdout: '',
    stderr: expect.stringContaining('Did you mean "expire-pastes"?'),
  })
})
