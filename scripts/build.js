// Compiles src/ to dist/, carries the files of the schema along (tsc copies no .sql files) and removes what has no source any
// more. Files are written in place: a build does not pull the floor from under a process that runs from dist/.
import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, readdirSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { buildSync } from 'esbuild'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const typescript = dirname(createRequire(import.meta.url).resolve('typescript/package.json'))
const from = (path) => join(root, 'src', path)
const to = (path) => join(root, 'dist', path)

execFileSync(process.execPath, [join(typescript, 'bin/tsc'), '-p', join(root, 'tsconfig.build.json')], {
  stdio: 'inherit',
})
cpSync(from('store/schema'), to('store/schema'), { recursive: true })

// The pages of the dashboard: one script and one style sheet, with all that they need in them.
const pages = 'dashboard/assets'
buildSync({
  entryPoints: { app: from('dashboard/ui/app.tsx') },
  outdir: to(pages),
  bundle: true,
  minify: true,
  format: 'esm',
  target: 'es2022',
  jsx: 'automatic',
  jsxImportSource: 'preact',
  legalComments: 'none',
  logLevel: 'warning',
  tsconfigRaw: '{}',
})
cpSync(from('dashboard/ui/icon.svg'), to(`${pages}/icon.svg`))
const built = ['app.js', 'app.css', 'icon.svg'].map((file) => `/${pages}/${file}`)

for (const entry of readdirSync(to(''), { recursive: true, withFileTypes: true })) {
  const path = join(entry.parentPath, entry.name).slice(to('').length)
  const source = path.replace(/(\.d\.ts|\.js)$/, '.ts')
  if (entry.isFile() && !existsSync(from(source)) && !built.includes(`/${path.replace(/^\//, '')}`)) rmSync(to(path))
}
