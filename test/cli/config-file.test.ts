import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { loadConfig } from '../../src/cli/config-file.ts'
import { Sluice, type SluiceConfig } from '../../src/index.ts'
import { temporaryFolder } from './run-cli.ts'

async function load(files: Record<string, string>, named?: string): Promise<SluiceConfig & Record<string, unknown>> {
  await using folder = await temporaryFolder()
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder.path, name), text)
  return { ...(await loadConfig(folder.path, named)).config }
}

test('a TypeScript file may use all of TypeScript and import other files', async () => {
  const config = await load({
    'sluice.config.ts': `
      import { defineConfig, expire, type SluiceConfig } from 'sluice'
      import { age } from './age.ts'
      enum Size { Small = 3 }
      const worker = { concurrency: Size.Small } satisfies SluiceConfig['worker']
      const base = await Promise.resolve<SluiceConfig>({ worker })
      export default defineConfig({
        ...base,
        operations: [expire({ name: 'a', table: 't', olderThan: age, by: 'at' })],
      })`,
    'age.ts': `export const age = '90 days' as const`,
  })
  expect(config.worker).toEqual({ concurrency: 3 })
  expect(config.operations).toMatchObject([{ name: 'a', table: 't' }])
})

test.each(['sluice.config.ts', 'sluice.config.mts', 'sluice.config.js', 'sluice.config.mjs'])(
  'finds %s',
  async (name) => {
    expect(await load({ [name]: `export default { schema: 'found' }` })).toEqual({ schema: 'found' })
  },
)

test('the file gets the very copy of Sluice that runs', async () => {
  const config = await load({
    'sluice.config.mjs': `import { Sluice } from 'sluice'
      import { startEmbedded } from 'sluice/embedded'
      export default { Sluice, startEmbedded }`,
  })
  expect(config['Sluice']).toBe(Sluice)
  expect(config['startEmbedded']).toBeTypeOf('function')
})

test('no file is an empty configuration', async () => {
  expect(await load({})).toEqual({})
})

test.each([
  ['a syntax error', { 'sluice.config.ts': 'export default {' }, /sluice\.config\.ts cannot be used: ParseError.*1:/],
  ['an error while it runs', { 'sluice.config.ts': `throw new Error('no region')` }, /: no region\.$/],
  ['a missing module', { 'sluice.config.ts': `import 'not-there'` }, /Cannot find module 'not-there'\.$/],
  ['no default export', { 'sluice.config.ts': 'export const schema = 1' }, /no default export.*defineConfig/],
  ['a default export that is no object', { 'sluice.config.ts': 'export default [1]' }, /must be an object/],
])('%s is told with the name of the file', async (_, files, message) => {
  await expect(load(files)).rejects.toMatchObject({ code: 'CONFIG_INVALID', message: expect.stringMatching(message) })
})

test('an error of Sluice in the file stays what it is', async () => {
  const text = `import { expire } from 'sluice'
    export default { operations: [expire({ name: 'a', table: 't', olderThan: 'old', by: 'at' })] }`
  await expect(load({ 'sluice.config.ts': text })).rejects.toMatchObject({ code: 'DEFINITION_INVALID' })
})

test('a named file must exist', async () => {
  await expect(load({}, 'other.ts')).rejects.toMatchObject({
    code: 'CONFIG_INVALID',
    message: expect.stringContaining('other.ts'),
  })
})

test('a folder is no file', async () => {
  await expect(load({}, '.')).rejects.toMatchObject({
    code: 'CONFIG_INVALID',
    message: expect.stringContaining('it is a folder'),
  })
})
