import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineInbox, Sluice } from '../../src/index.ts'
import { nasty, place } from './job-place.ts'

// Each test runs the command line many times, which takes a second each on a busy machine.
const renewals = defineInbox({
  name: 'renewals',
  payload: z.object({ id: z.string() }),
  key: ({ id }) => [id, 'x'],
  perform: () => undefined,
})

test('list counts what is in each inbox; show has what waits longest, and one message by its key', async () => {
  await using at = await place()
  expect((await at.run('inbox', 'list')).stderr).toContain('There is no inbox yet')
  await using sluice = new Sluice({ database: at.db.url })
  for (const id of ['first', nasty]) await sluice.inboxes.receive(renewals, { id })
  const { stdout } = await at.run('inbox', 'list')
  const [head, line] = stdout.split('\n')
  expect(head).toMatch(/^inbox +waiting +failed +processed +differing +oldest$/)
  expect(line).toMatch(/^renewals +2 +0 +0 +0 +\S.*$/)
  expect(await at.json('inbox', 'list')).toMatchObject({ version: 1, inboxes: [{ name: 'renewals', waiting: 2 }] })

  const shown = await at.run('inbox', 'show', 'renewals')
  expect(shown.stdout).toMatch(/^renewals\n +waiting +2\n/)
  expect(shown.stdout).toMatch(/\nfirst:x +\S.* +1 +0\n/)
  expect(shown.stdout).not.toContain('\u001B')
  const message = await at.run('inbox', 'show', 'renewals', 'first', 'x')
  expect(message.stdout).toMatch(/^message 1, first:x\n +state +waiting\n[\s\S]*payload +\{"id":"first"\}\n$/)
  expect((await at.run('inbox', 'show', 'renewals', 'second')).stderr).toContain('does not know the key')
  expect(await at.run('inbox', 'show', 'renewal')).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining('Did you mean "renewals"?'),
  })
})
