import { execFile } from 'node:child_process'
import { mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join, sep } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { transform } from 'esbuild'
import type { Edit, Mutant } from './mutant.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))

/** What no bug is planted in. */
const linked = ['node_modules', 'docs']

/** A copy of the project with a bug in it, in src/ and in dist/. */
export interface Planted extends AsyncDisposable {
  folder: string
  /** The built package of the copy, as worker processes load it. */
  package: URL
}

/** Copies the built project and plants a bug in the copy. The build must be that of the source as it is. */
export async function plant(mutant: Pick<Mutant, 'edits'>): Promise<Planted> {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-mutant-'))
  const copied = (await readdir(root)).filter((name) => !linked.includes(name) && name !== '.git')
  // Links are made in a tenth of the time. What is edited is replaced, not written to.
  const how = (await stat(root)).dev === (await stat(folder)).dev ? '-al' : '-a'
  await promisify(execFile)('cp', [how, ...copied.map((name) => join(root, name)), folder])
  for (const name of linked) await symlink(join(root, name), join(folder, name))
  for (const edit of mutant.edits) await apply(folder, edit)
  return {
    folder,
    package: pathToFileURL(join(folder, 'dist', sep)),
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  }
}

async function apply(folder: string, { file, from, to }: Edit): Promise<void> {
  const path = join(folder, file)
  const code = await readFile(path, 'utf8')
  const pieces = code.split(from)
  if (pieces.length !== 2)
    throw new Error(`${file} has the text to break ${pieces.length - 1} times, not once: ${from}`)
  const broken = pieces.join(to)
  await replace(path, broken)
  await replace(builtPath(folder, file), await built(file, broken))
}

async function replace(path: string, text: string): Promise<void> {
  await rm(path)
  await writeFile(path, text)
}

const builtPath = (folder: string, file: string): string =>
  join(folder, file.replace(/^src\//, 'dist/').replace(/\.ts$/, '.js'))

async function built(file: string, code: string): Promise<string> {
  if (!file.endsWith('.ts')) return code
  const { code: script } = await transform(code, { loader: 'ts', format: 'esm', sourcefile: basename(file) })
  return script.replaceAll(/((?:from |import\()['"]\.{1,2}\/[^'"]+)\.ts(['"])/g, '$1.js$2')
}
