import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { writeConfig } from './job-place.ts'
import { sluiceHere, temporaryFolder } from './run-cli.ts'

/** A database that does not answer: whoever asks it ends with 3. */
const nowhere = 'postgres://u@127.0.0.1:1/x'

test.each([
  [['show', 'abc'], 'number of a job'],
  [['show', '1e3'], 'number of a job'],
  [['show', '9007199254740993'], 'number of a job'],
  [['cancel', '0'], 'number of a job'],
  [['list', '--before', 'now'], 'number of a job'],
  [['list', '--limit', '0'], 'whole number from 1 to 1,000'],
  [['list', '--state', 'ded'], 'There is no state "ded". Did you mean "dead"?'],
  [['list', '--state', 'dead,,cancelled'], 'without an empty place'],
  [['list', '--state', 'dead,waiting'], 'cannot be asked for together'],
  [['list', '--state', 'succeeded', '--tag', 'x'], 'neither is kept of them'],
  [['list', '--within', '1d'], '--within goes with --state succeeded'],
  [['retry'], 'give the id of a job, or --all'],
  [['retry', '1', '--all'], 'not both'],
  [['retry', '1', '--yes'], '--yes goes with --all'],
  [['retry', '1', '--name', 'x'], '--name goes with --all'],
  [['retry', '--all', '--state', 'waiting'], 'does not act on "waiting" jobs'],
  [['discard', '--all', '--state', 'running'], 'does not act on "running" jobs'],
  [['discard', '--all', '--reason', 'x'], '--reason goes with the id'],
  [['enqueue', 'plaim'], 'Did you mean "plain"?'],
  [['enqueue', 'sluice.bulk', '--args', '{}'], 'No job is named'],
  [['enqueue', 'plain', '--args', '{'], '--args must be JSON'],
  [['enqueue', 'plain', '--args', '{"n": 1}'], 'takes no args'],
  [['enqueue', 'add-number', '--args', '{"n": "1"}'], 'args.n: must be a number'],
  [['enqueue', 'add-number', '--args', '{"n": 12345678901234567890}'], '12345678901234567890'],
  [['enqueue', 'add-number', '--args', '{"n": 1e999}'], 'Infinity is not a JSON number'],
  [['enqueue', 'add-number', '--args', '{"n": 1, "t": "\\u0000"}'], 'NUL'],
  [['enqueue', 'add-number'], 'args.n: must be a number'],
  [['enqueue', 'plain', '--args', '{}', '--args-file', 'x'], 'cannot be used with'],
  [['enqueue', 'plain', '--args-file', 'missing.json'], 'cannot be read: there is no such file'],
  [['enqueue', 'plain', '--args-file', 'broken.json'], 'must be JSON'],
  [['enqueue', 'plain', '--args-file', 'latin1.json'], 'no text in UTF-8'],
  [['enqueue', 'plain', '--args-file', '.'], 'cannot be read: it is a folder'],
  [['enqueue', 'plain', '--in', 'soon'], '"in" must be a time'],
  [['enqueue', 'plain', '--in', '-5m'], '"in" must be a time'],
  [['enqueue', 'plain', '--in', '9000 weeks'], '"in" must be a time'],
  [['enqueue', 'plain', '--in', '5m', '--at', '2026-01-31T09:00:00Z'], 'cannot be used with'],
  [['enqueue', 'plain', '--at', 'tomorrow'], 'time with its zone'],
  [['enqueue', 'plain', '--at', '2026-01-31T09:00:00'], 'time with its zone'],
  [['enqueue', 'plain', '--at', '2026-02-31T09:00:00Z'], 'time with its zone'],
  [['enqueue', 'plain', '--at', '9999-01-01T00:00:00Z'], 'within ten years'],
  [['enqueue', 'plain', '--queue', 'a b'], 'cannot be the name of a queue'],
  [['enqueue', 'plain', '--priority', 'urgent'], 'high, normal, low'],
  [['enqueue', 'plain', '--tags', 'a,'], 'without an empty place'],
  [['enqueue', 'plain', '--tags', 'x'.repeat(101)], '"tags" must be'],
])('sluice jobs %j is refused before anybody asks the database', async (args, complaint) => {
  await using folder = await temporaryFolder()
  await writeConfig(folder.path)
  await writeFile(join(folder.path, 'broken.json'), '{')
  await writeFile(join(folder.path, 'latin1.json'), Buffer.from('{"n": "\xE9"}', 'latin1'))
  const { exitCode, stdout, stderr } = await sluiceHere(['jobs', ...args], {
    folder: folder.path,
    env: { DATABASE_URL: nowhere },
  })
  expect(stderr).toContain(complaint)
  expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' })
})
