// Compiles src/ to dist/ and carries the migrations along: tsc copies no .sql files.
import { execFileSync } from 'node:child_process'
import { chmodSync, cpSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const typescript = dirname(createRequire(import.meta.url).resolve('typescript/package.json'))

rmSync(join(root, 'dist'), { recursive: true, force: true })
execFileSync(process.execPath, [join(typescript, 'bin/tsc'), '-p', join(root, 'tsconfig.build.json')], { stdio: 'inherit' })
cpSync(join(root, 'src/store/migrations'), join(root, 'dist/store/migrations'), { recursive: true })
chmodSync(join(root, 'dist/cli/main.js'), 0o755)
