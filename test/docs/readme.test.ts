import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { testDatabase } from '../support/database.ts'
import { read, root, sections } from './pages.ts'

test("the README's job runs as it stands", async () => {
  await using db = await testDatabase()
  const section = sections(read('README.md'), 2).get('Background jobs') ?? ''
  const [, code = ''] = /^```ts\n([\s\S]*?)^```$/m.exec(section) ?? []
  const cache = join(root, 'node_modules', '.cache')
  await mkdir(cache, { recursive: true })
  const folder = await mkdtemp(join(cache, 'readme-'))
  try {
    await writeFile(join(folder, 'package.json'), '{ "type": "module" }')
    await writeFile(join(folder, 'main.ts'), code)
    const JITI_ALIAS = JSON.stringify({ sluice: `${root}dist/index.js` })
    const env = { ...process.env, DATABASE_URL: db.url, JITI_ALIAS }
    const main = ['--import', 'jiti/register', join(folder, 'main.ts')]
    const { stdout } = await promisify(execFile)(process.execPath, main, { cwd: root, env })
    expect(stdout).toBe('welcome, user 7 (job:1)\nsucceeded\n')
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
})
