// The command line's part of the bad-input corpus; the rest is in test/jobs.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { testDatabase } from '../support/database.ts'
import { builtPackage } from '../support/worker.ts'
import { oddTexts } from '../jobs/bad-input-corpus.ts'
import { sluiceHere, temporaryFolder, type Ran } from './run-cli.ts'

const config = `
import { defineJob } from '${new URL('index.js', builtPackage).href}'
const args = { '~standard': { version: 1, vendor: 'test', validate: (value) => ({ value }) } }
export default { jobs: [defineJob({ name: 'take', args, perform() {} })] }
`

const refusals: [name: string, options: string[], code: string][] = [
  ['no JSON', ['take', '--args', '{value: 1}'], ''],
  ['an empty text', ['take', '--args', ''], ''],
  ['a NUL character', ['take', '--args', '{"value":"a\\u0000b"}'], 'ARGS_INVALID'],
  ['half a surrogate pair', ['take', '--args', '{"value":"\\ud83d"}'], 'ARGS_INVALID'],
  ['__proto__ as a key', ['take', '--args', '{"__proto__":{"admin":true}}'], 'ARGS_INVALID'],
  ['a depth of 10,000', ['take', '--args', `${'['.repeat(10_000)}${']'.repeat(10_000)}`], 'ARGS_INVALID'],
  ['a number that is none in JavaScript', ['take', '--args', '{"value":1e999}'], 'ARGS_INVALID'],
  ['1 MB', ['take', '--args-file', 'large.json'], 'ARGS_INVALID'],
  ['SQL as a job', [`x'; drop table sluice.job; --`], 'DEFINITION_UNKNOWN'],
  ['spaces as a queue', ['take', '--queue', '  ', '--args', '1'], 'QUEUE_INVALID'],
  ['an endless wait', ['take', '--in', '99999999d', '--args', '1'], 'ENQUEUE_INVALID'],
]

test('odd args on the command line are refused in clear words, or stored as they are', async () => {
  await using db = await testDatabase()
  await using folder = await temporaryFolder()
  await writeFile(join(folder.path, 'sluice.config.mjs'), config)
  await writeFile(join(folder.path, 'large.json'), JSON.stringify({ value: 'x'.repeat(1_000_000) }))
  const enqueue = (options: readonly string[]): Promise<Ran> =>
    sluiceHere(['jobs', 'enqueue', ...options], { folder: folder.path, env: { SLUICE_DATABASE_URL: db.url } })
  for (const [name, options, code] of refusals) {
    const { exitCode, stderr } = await enqueue(options)
    expect(exitCode, name).toBeGreaterThan(0)
    expect(stderr, name).toContain(code)
    expect(stderr, name).toMatch(/^.{15,}/)
    expect(stderr.length, name).toBeLessThan(3_000)
    expect(stderr, name).not.toMatch(/^\s+at /m)
  }
  expect(await db.value('select count(*)::int from sluice.job')).toBe(0)
  const texts = oddTexts.map(([, text]) => text)
  const { exitCode, stderr } = await enqueue(['take', '--args', JSON.stringify({ texts })])
  expect([exitCode, stderr.includes('Error')]).toEqual([0, false])
  expect(await db.value('select args from sluice.job')).toEqual({ texts })
  process.stdout.write(`bad input: ${refusals.length + texts.length} cases\n`)
})
