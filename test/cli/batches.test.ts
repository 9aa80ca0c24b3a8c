import { expect, test } from 'vitest'
import { planned } from '../../src/index.ts'
import { definitions, nasty, place } from './job-place.ts'
import { sluiceHere } from './run-cli.ts'

// The test runs the command line many times, which takes a second each on a busy machine.
const { plain, fails } = definitions

test('batches of jobs can be listed, shown and cancelled', async () => {
  await using at = await place()
  expect(await at.run('batches', 'list')).toMatchObject({
    exitCode: 0,
    stdout: '',
    stderr: 'There is no such batch of jobs.\n',
  })
  const { batches } = at.api
  const first = await batches.run([planned(plain, undefined, { in: '1h' }), planned(plain, undefined, { in: '1h' })], {
    description: nasty,
    onComplete: planned(fails),
  })
  const second = await batches.open()
  const { stdout } = await at.run('batches', 'list')
  const [head, open, sealed] = stdout.split('\n')
  expect(head).toMatch(/^ *id +state +members +waiting +failed +since +description$/)
  expect(open).toMatch(new RegExp(`^ *${second.id} +open +0 +0 +0 `))
  expect(sealed).toMatch(new RegExp(`^ *${first.id} +sealed +2 +2 +0 +.*bad \\\\u001b\\[31mred`))
  expect(await at.json('batches', 'list', '--state', 'open,failed')).toMatchObject({
    batches: [{ id: second.id, state: 'open' }],
    next: null,
  })
  const page = await at.run('batches', 'list', '--limit', '1')
  expect(page.stderr).toContain(`sluice batches list --limit 1 --before ${second.id}`)

  const cancelled = await at.run('batches', 'cancel', String(first.id), '--reason', 'not needed')
  expect(cancelled).toEqual({
    exitCode: 0,
    stdout: `! batch of jobs ${first.id} was cancelled: not needed\n`,
    stderr: '',
  })
  const shown = await at.run('batches', 'show', String(first.id))
  expect(shown.stdout).toContain(`batch of jobs ${first.id} was cancelled: not needed`)
  expect(shown.stdout).toMatch(/members +2: 0 not ended, 0 succeeded, 2 failed/)
  expect(shown.stdout).toMatch(/complete +fails, called as job \d+/)
  expect(shown.stdout).toMatch(/failed +plain \d+ \(cancelled\), plain \d+ \(cancelled\)/)
  expect(await at.json('batches', 'show', String(first.id))).toMatchObject({
    version: 1,
    batch: { id: first.id, state: 'cancelled', callbacks: [{ kind: 'complete', name: 'fails' }] },
  })
  expect(await at.run('batches', 'cancel', String(first.id))).toMatchObject({ exitCode: 6, stdout: '' })
  expect(await at.run('batches', 'show', '4711')).toMatchObject({ exitCode: 1, stdout: '' })
})

test.each([
  [['show'], "missing required argument 'id'"],
  [['show', 'x'], 'the number of a batch of jobs'],
  [['cancel', '0'], 'the number of a batch of jobs'],
  [['list', '--state', 'seald'], 'Did you mean "sealed"?'],
  [['list', '--limit', '0'], 'whole number from 1 to 1,000'],
])('sluice batches %j is refused before anybody asks the database', async (args, complaint) => {
  const { exitCode, stdout, stderr } = await sluiceHere(['batches', ...args], {
    env: { DATABASE_URL: 'postgres://u@127.0.0.1:1/x' },
  })
  expect(stderr).toContain(complaint)
  expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' })
})
