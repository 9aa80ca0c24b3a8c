import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const root = fileURLToPath(new URL('../..', import.meta.url))

test('args are inferred from the schema to the call, and wrong use does not compile', () => {
  for (const file of ['inference.ts', 'jobs.ts']) {
    const source = readFileSync(join(root, 'test/types', file), 'utf8')
    expect(source.match(/@ts-expect-error/g)?.length).toBeGreaterThan(15)
  }
  const tsc = join(root, 'node_modules/typescript/bin/tsc')
  const { status, stdout } = spawnSync(process.execPath, [tsc, '-p', join(root, 'test/types/tsconfig.json')], {
    encoding: 'utf8',
  })
  expect(stdout).toBe('')
  expect(status).toBe(0)
})
