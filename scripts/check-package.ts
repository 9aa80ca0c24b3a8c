// npm run check:package: packs the package and looks at the tarball as its users will: what is in it, whether every
// door opens, whether the types are right, and what an installation of it weighs.
import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')

interface Packed {
  filename: string
  size: number
  unpackedSize: number
  files: { path: string; size: number }[]
}

const { exports: doors, dependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  exports: Record<string, unknown>
  dependencies: Record<string, string>
}

const say = (text: string): void => void process.stdout.write(`${text}\n`)
/** Runs a tool of our own dev dependencies by its name on the command line. */
const tool = (bin: string, args: string[], cwd: string): void => {
  execFileSync(join(root, 'node_modules', '.bin', bin), args, { cwd, stdio: 'inherit' })
}

function pack(folder: string): Packed {
  const [packed] = JSON.parse(
    execFileSync('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', folder], {
      cwd: root,
      encoding: 'utf8',
    }),
  ) as Packed[]
  if (packed === undefined) throw new Error('npm pack gave nothing')
  return packed
}

function checkContents({ files, size, unpackedSize }: Packed): void {
  const strays = files.filter(
    ({ path }) => !/^(dist\/|package\.json$|README\.md$|LICENSE$|CHANGELOG\.md$|SECURITY\.md$)/.test(path),
  )
  if (strays.length > 0)
    throw new Error(`the tarball holds what it should not: ${strays.map(({ path }) => path).join(', ')}`)
  for (const needed of [
    'LICENSE',
    'README.md',
    'dist/index.js',
    'dist/index.d.ts',
    'dist/cli/main.js',
    'dist/store/schema/tables/0001_schema.sql',
    'dist/store/schema/functions/enqueue.sql',
  ]) {
    if (!files.some(({ path }) => path === needed)) throw new Error(`the tarball lacks ${needed}`)
  }
  const byFolder = new Map<string, Packed['files']>()
  for (const file of files) {
    const folder = file.path.split('/').slice(0, 2).join('/')
    byFolder.set(folder, [...(byFolder.get(folder) ?? []), file])
  }
  for (const [folder, list] of byFolder) say(`  ${folder.padEnd(24)} ${String(list.length).padStart(4)} files`)
  say(
    `tarball: ${files.length} files, ${Math.round(size / 1024)} KiB packed, ${Math.round(unpackedSize / 1024)} KiB unpacked`,
  )
}

/** Unpacks the tarball beside its dependencies and imports every door from there, also by require(). */
function openDoors(tarball: string, folder: string): void {
  const home = join(folder, 'app', 'node_modules', 'sluice')
  mkdirSync(home, { recursive: true })
  // Without one, a package.json somewhere above would count as the user's own.
  writeFileSync(join(folder, 'app', 'package.json'), '{}')
  execFileSync('tar', ['-xzf', tarball, '-C', home, '--strip-components=1'])
  for (const name of Object.keys(dependencies)) linkPackage(name, join(folder, 'app', 'node_modules'))
  const specifiers = Object.keys(doors).map((door) => (door === '.' ? 'sluice' : `sluice/${door.slice(2)}`))
  for (const specifier of specifiers) {
    const json = specifier.endsWith('.json')
    const code = json
      ? `require('${specifier}')`
      : `import('${specifier}').then((m) => { if (Object.keys(m).length === 0) throw new Error('empty') })`
    execFileSync(process.execPath, ['-e', code], { cwd: join(folder, 'app'), stdio: 'inherit' })
    if (!json)
      execFileSync(process.execPath, ['-e', `require('${specifier}')`], { cwd: join(folder, 'app'), stdio: 'inherit' })
    say(`door ${specifier} opens`)
  }
  const version = execFileSync(process.execPath, [join(home, 'dist/cli/main.js'), '--version'], {
    cwd: folder,
    encoding: 'utf8',
  })
  say(`sluice --version says ${version.trim()}`)
  checkTypes(join(folder, 'app'))
}

/** Dependencies may sit below another one's folder; following the links keeps that intact. */
function linkPackage(name: string, modules: string): void {
  const target = join(modules, name)
  mkdirSync(dirname(target), { recursive: true })
  symlinkSync(join(root, 'node_modules', name), target)
}

/** Strictly and with library checks on: a user without our dev dependencies must be able to compile against us. */
function checkTypes(app: string): void {
  cpSync(join(root, 'node_modules', '@types', 'node'), join(app, 'node_modules', '@types', 'node'), { recursive: true })
  cpSync(join(root, 'node_modules', 'undici-types'), join(app, 'node_modules', 'undici-types'), { recursive: true })
  writeFileSync(
    join(app, 'main.mts'),
    `import { defineJob, defineOperation, expire, sql, Sluice } from 'sluice'
import { fromPrisma } from 'sluice/adapters'
import { startEmbedded } from 'sluice/embedded'
import { testJobs, type JobEnding } from 'sluice/testing'
const operation = expire({ name: 'a', table: 't', olderThan: '90 days', by: 'created_at' })
const other = defineOperation({ name: 'b', table: 't', perform: ({ batch }) => batch.delete(sql\`true\`) })
export const sluice = new Sluice({ operations: [operation, other] })
export const started: Promise<{ id: string; duplicate: boolean }> = sluice.operations.start(operation)
export const embedded: typeof startEmbedded = startEmbedded
const job = defineJob({ name: 'c', perform: () => undefined })
const tx = fromPrisma({ $queryRawUnsafe: async (text: string, ...values: unknown[]) => [text, values] })
export const enqueued: Promise<{ id: number; duplicate: boolean }> = sluice.jobs.enqueue(job, undefined, { tx })
export const ending: Promise<JobEnding> = testJobs(sluice).run(job).then((run) => run.ending)
`,
  )
  const options = [
    '--noEmit',
    '--strict',
    '--module',
    'nodenext',
    '--target',
    'es2023',
    '--lib',
    'es2023,esnext.disposable',
    '--types',
    'node',
  ]
  tool('tsc', [...options, 'main.mts'], app)
  say('a strict user compiles against the types')
}

const folder = mkdtempSync(join(tmpdir(), 'sluice-pack-'))
try {
  const packed = pack(folder)
  const tarball = join(folder, packed.filename)
  if (!existsSync(tarball)) throw new Error(`npm pack did not write ${packed.filename}`)
  checkContents(packed)
  openDoors(tarball, folder)
  tool('publint', ['run', tarball, '--strict'], root)
  tool('attw', [tarball, '--profile', 'esm-only'], root)
} finally {
  rmSync(folder, { recursive: true, force: true })
}
