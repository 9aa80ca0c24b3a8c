import { execFile } from 'node:child_process'
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { pages, read, root } from './pages.ts'

/** What an example may leave to the ones before it on its page; used where it is not declared in the block itself. */
const given: Record<string, string> = {
  sluice: `declare const sluice: import('sluice').Sluice`,
  id: `declare const id: string`,
  jobId: `declare const jobId: number`,
  stripeSync: `declare const stripeSync: import('sluice').JobDefinition<{ customerId: number }>`,
  deleteDoneTodos: `declare const deleteDoneTodos: import('sluice').OperationDefinition<{ userId: number; deleteUntil: unknown }>`,
}

const options = {
  extends: join(root, 'tsconfig.json'),
  compilerOptions: {
    rootDir: root,
    noUnusedLocals: false,
    paths: {
      sluice: [`${root}src/index.ts`],
      'sluice/adapters': [`${root}src/adapters/index.ts`],
      'sluice/dashboard': [`${root}src/dashboard/index.ts`],
      'sluice/embedded': [`${root}src/embedded/index.ts`],
      'sluice/metrics': [`${root}src/observe/metrics/index.ts`],
      'sluice/testing': [`${root}src/testing/index.ts`],
    },
  },
  include: ['*.ts'],
}

function blocksOf(page: string): { name: string; code: string }[] {
  const blocks = [...read(page).matchAll(/^```ts\n([\s\S]*?)^```$/gm)]
  return blocks.map(([, code = ''], i) => {
    const missing = Object.keys(given).filter(
      (name) =>
        new RegExp(`\\b${name}\\b`).test(code) &&
        !new RegExp(`^(export )?(const|let) [^=\\n]*\\b${name}\\b|^import [^']*\\b${name}\\b`, 'm').test(code),
    )
    const preamble = missing.map((name) => `${given[name]}\n`).join('')
    return { name: `${page.replaceAll(/[/.]/g, '-')}-${i + 1}.ts`, code: `${preamble}${code}\nexport {}\n` }
  })
}

test('every example in the documents compiles', async () => {
  const blocks = pages.flatMap(blocksOf)
  expect(blocks.length).toBeGreaterThan(8)
  const cache = join(root, 'node_modules', '.cache')
  await mkdir(cache, { recursive: true })
  const folder = await mkdtemp(join(cache, 'docs-'))
  try {
    await writeFile(join(folder, 'package.json'), '{ "type": "module" }')
    await writeFile(join(folder, 'tsconfig.json'), JSON.stringify(options))
    await Promise.all(blocks.map(({ name, code }) => writeFile(join(folder, name), code)))
    const readme = blocks.find(({ code }) => code.includes('defineConfig') && code.includes('deleteDoneTodos'))
    // The README's second example imports the first.
    await cp(join(folder, readme?.name ?? ''), join(folder, 'sluice.config.ts'))
    const tsc = join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin/tsc')
    const output = await promisify(execFile)(process.execPath, [tsc, '-p', folder]).then(
      () => '',
      (error: Error & { stdout?: string }) => error.stdout ?? error.message,
    )
    expect(output).toBe('')
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
})
