import { readFile, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { loadConfig } from '../../src/cli/config-file.ts'
import { withScripts } from '../../src/cli/init/package-scripts.ts'
import { sluice, temporaryFolder } from './run-cli.ts'

async function snapshot(folder: string): Promise<Record<string, string>> {
  const names = (await readdir(folder)).toSorted()
  return Object.fromEntries(
    await Promise.all(names.map(async (name) => [name, await readFile(join(folder, name), 'utf8')] as const)),
  )
}

test('prepares a folder, and changes nothing when it is run again', async () => {
  await using folder = await temporaryFolder()
  await writeFile(join(folder.path, 'package.json'), '{\n\t"name": "x",\n\t"scripts": {\n\t\t"test": "y"\n\t}\n}\n')
  await writeFile(join(folder.path, '.gitignore'), 'node_modules')
  const first = await sluice(['init', '--yes'], { folder: folder.path })
  const after = await snapshot(folder.path)
  expect(first).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('created  sluice.config.ts') })
  expect(after['.gitignore']).toBe('node_modules\n.sluice/\n')
  expect(after['package.json']).toContain('\t\t"test": "y",\n\t\t"sluice:worker": "sluice worker",\n')
  expect((await loadConfig(folder.path, undefined)).config.operations).toMatchObject([{ name: 'expire-events' }])

  const second = await sluice(['init'], { folder: folder.path })
  expect(second.stdout.match(/^kept/gm)).toHaveLength(3)
  expect(await snapshot(folder.path)).toEqual(after)
})

test('keeps a configuration of another kind, and makes no package.json', async () => {
  await using folder = await temporaryFolder()
  await writeFile(join(folder.path, 'sluice.config.mjs'), 'export default {}')
  const { stdout } = await sluice(['init', '--json'], { folder: folder.path })
  expect(JSON.parse(stdout)).toMatchObject({ version: 1, steps: [{ file: 'sluice.config.mjs', done: 'kept' }, {}] })
  expect(await readdir(folder.path)).toEqual(['.gitignore', 'sluice.config.mjs'])
})

describe('package.json', () => {
  const added = { 'sluice:worker': 'sluice worker', 'sluice:migrate': 'sluice migrate' }

  test('keeps its layout', () => {
    const text = '{\n  "files": ["a", "b"],\n  "scripts": {\n    "x": "echo }"\n  }\n}\n'
    expect(withScripts('{\n  "files": ["a", "b"],\n  "scripts": {\n    "x": "y"\n  }\n}\n')).toBe(
      '{\n  "files": ["a", "b"],\n  "scripts": {\n    "x": "y",\n    "sluice:worker": "sluice worker",\n    "sluice:migrate": "sluice migrate"\n  }\n}\n',
    )
    expect(JSON.parse(withScripts(text))).toEqual({ files: ['a', 'b'], scripts: { x: 'echo }', ...added } })
  })

  test.each([
    ['no scripts', '{ "name": "x" }'],
    ['empty scripts', '{\n  "name": "x",\n  "scripts": {}\n}'],
    ['one line', '{"name":"x","scripts":{}}'],
    ['Windows line ends', '{\r\n  "name": "x",\r\n  "scripts": {\r\n  }\r\n}\r\n'],
  ])('with %s gets the scripts', (_, text) => {
    expect(JSON.parse(withScripts(text))).toEqual({ name: 'x', scripts: added })
  })

  test('keeps scripts of the same name', () => {
    const text = '{ "scripts": { "sluice:worker": "mine", "sluice:migrate": "mine" } }'
    expect(withScripts(text)).toBe(text)
  })
})
