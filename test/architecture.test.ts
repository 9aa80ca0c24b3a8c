import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'

const src = fileURLToPath(new URL('../src', import.meta.url))

const files = readdirSync(src, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile() && /\.tsx?$/.test(entry.name))
  .map((entry) => relative(src, join(entry.parentPath, entry.name)))
  .toSorted()

interface Import {
  path: string
  typeOnly: boolean
}

const textOf = new Map(files.map((file) => [file, readFileSync(join(src, file), 'utf8')]))

/** The code alone: a template may hold a file that is written for the user. */
const codeOf = (file: string): string => (textOf.get(file) ?? '').replace(/`[^`]*`/g, '``')

function importsOf(file: string): Import[] {
  const pattern = /^\s*(?:import|export)\s+(type\s)?(?:[^'";]*?\sfrom\s+)?'([^']+)'|import\('([^']+)'\)/gm
  return [...codeOf(file).matchAll(pattern)].map(([, typeOnly, fixed, dynamic]) => ({
    path: resolve(file, fixed ?? dynamic ?? ''),
    typeOnly: typeOnly !== undefined,
  }))
}

const resolve = (file: string, path: string): string => (path.startsWith('.') ? join(dirname(file), path) : path)

/** A folder of `src`, or of one of its two houses of small rooms, or a file that is a room of its own. */
const roomOf = (path: string): string =>
  (/^(?:patterns|observe)\/[^/]+|^[^/]+/.exec(path)?.[0] ?? path).replace(/\.tsx?$/, '')

/** What each room may import beside itself: rooms, single files, and packages. Node's own modules are free to all. */
const mayImport: Record<string, string[]> = {
  std: [],
  errors: [],
  version: [],
  telemetry: ['std', 'pino'],
  store: ['std', 'errors', 'telemetry', 'pg'],
  args: ['std', 'errors', '@standard-schema/spec'],
  targets: ['store/connection.ts', 'store/sqlstate.ts', 'store/operations.ts', 'std', 'errors', 'sql-template-tag'],
  'observe/doctor': ['governor', 'store', 'targets', 'std', 'errors'],
  runtime: ['store', 'telemetry', 'std', 'errors'],
  governor: ['config/option.ts', 'runtime', 'targets/vacuum.ts', 'store', 'telemetry', 'std', 'errors'],
  operations: [
    'args',
    'targets',
    'observe/doctor',
    'governor',
    'runtime',
    'store',
    'telemetry',
    'std',
    'errors',
    'version',
    'sql-template-tag',
    '@standard-schema/spec',
  ],
  jobs: ['args', 'targets', 'runtime', 'store', 'telemetry', 'std', 'errors', '@standard-schema/spec'],
  'patterns/schedules': ['args', 'jobs', 'operations', 'runtime', 'store', 'telemetry', 'std', 'errors', 'croner'],
  'patterns/batches': ['jobs', 'runtime', 'store', 'telemetry', 'std', 'errors'],
  'patterns/reconcilers': ['jobs', 'targets', 'runtime', 'store', 'telemetry', 'std', 'errors', 'sql-template-tag'],
  'patterns/machines': [
    'jobs',
    'patterns/reconcilers',
    'targets',
    'runtime',
    'store',
    'telemetry',
    'std',
    'errors',
    '@standard-schema/spec',
  ],
  'observe/samples': ['governor', 'runtime', 'store', 'telemetry', 'std', 'errors'],
  'observe/audit': ['store', 'std', 'errors'],
  'observe/metrics': [
    'sluice',
    'observe/alerts',
    'observe/samples',
    'store',
    'telemetry',
    'std',
    'errors',
    'version',
    'prom-client',
    '@opentelemetry/api',
  ],
  'observe/alerts': ['config/option.ts', 'observe/samples', 'store', 'telemetry', 'std', 'errors'],
  'patterns/sweeps': ['targets', 'runtime', 'store', 'telemetry', 'std', 'errors', 'sql-template-tag'],
  adapters: ['store/connection.ts', 'std', 'errors'],
  embedded: ['std', 'errors'],
  config: [
    'observe/alerts',
    'governor',
    'operations',
    'jobs',
    'patterns/schedules',
    'patterns/machines',
    'patterns/reconcilers',
    'patterns/inbox',
    'patterns/sweeps',
    'store',
    'telemetry',
    'std',
    'errors',
  ],
  registries: [
    'config',
    'operations',
    'jobs',
    'patterns/schedules',
    'patterns/machines',
    'patterns/reconcilers',
    'patterns/inbox',
    'patterns/sweeps',
    'runtime',
  ],
  process: [
    'registries',
    'config',
    'observe/samples',
    'observe/alerts',
    'governor',
    'operations',
    'jobs',
    'patterns/schedules',
    'patterns/reconcilers',
    'patterns/inbox',
    'patterns/batches',
    'patterns/sweeps',
    'runtime',
    'store',
    'telemetry',
  ],
  sluice: [
    'registries',
    'process',
    'config',
    'observe/samples',
    'observe/alerts',
    'observe/audit',
    'governor',
    'operations',
    'jobs',
    'patterns/schedules',
    'patterns/machines',
    'patterns/reconcilers',
    'patterns/inbox',
    'patterns/batches',
    'patterns/sweeps',
    'observe/doctor',
    'runtime',
    'store',
    'telemetry',
  ],
  'patterns/inbox': ['jobs', 'runtime', 'store', 'telemetry', 'std', 'errors', '@standard-schema/spec'],
  index: [
    'runtime/window.ts',
    'sluice',
    'observe/samples',
    'observe/alerts',
    'observe/audit',
    'config',
    'governor',
    'operations',
    'jobs',
    'patterns/schedules',
    'patterns/machines',
    'patterns/reconcilers',
    'patterns/inbox',
    'patterns/batches',
    'patterns/sweeps',
    'observe/doctor',
    'store',
    'telemetry',
    'std',
    'errors',
    'version',
    'sql-template-tag',
  ],
  testing: ['index', 'jobs/bench.ts', 'patterns/schedules/bench.ts', 'governor/simulator.ts', 'governor/plot.ts'],
  dashboard: ['index', 'hono', 'preact', 'uplot'],
  cli: ['index', 'dashboard/index.ts', 'embedded', 'commander', 'jiti'],
}

/** The demo plays the user's application and has its own table. */
const exceptions: Record<string, string[]> = { 'cli/demo/': ['pg'] }

function allowed(file: string, { path }: Import): boolean {
  const room = roomOf(file)
  const extra = Object.entries(exceptions).flatMap(([prefix, more]) => (file.startsWith(prefix) ? more : []))
  const may = [...(mayImport[room] ?? []), ...extra]
  if (path.startsWith('node:') || roomOf(path) === room) return true
  return may.some((name) => name === path || name === roomOf(path) || path.startsWith(`${name}/`))
}

test('every room is in the import matrix', () => {
  expect([...new Set(files.map(roomOf))].filter((room) => !(room in mayImport))).toEqual([])
})

test('arrows only go where the matrix allows', () => {
  const wrong = files.flatMap((file) =>
    importsOf(file)
      .filter((i) => !allowed(file, i))
      .map((i) => `${file} -> ${i.path}`),
  )
  expect(wrong).toEqual([])
})

test('only the command line, the dashboard and the tools for tests import the front door from inside', () => {
  const importers = files.filter((file) => importsOf(file).some(({ path }) => path === 'index.ts'))
  expect(importers.filter((file) => !['cli', 'dashboard', 'testing'].includes(roomOf(file)))).toEqual([])
})

/** The files that take part in a cycle of imports. */
function inCycles({ types }: { types: boolean }): string[] {
  const edges = new Map(
    files.map((file) => [
      file,
      importsOf(file)
        .filter((i) => (types || !i.typeOnly) && textOf.has(i.path))
        .map((i) => i.path),
    ]),
  )
  const reaches = (from: string, to: string, seen = new Set<string>()): boolean =>
    (edges.get(from) ?? []).some((next) => next === to || (!seen.has(next) && reaches(next, to, seen.add(next))))
  return files.filter((file) => reaches(file, file))
}

test('no file takes part in a cycle at run time', () => {
  expect(inCycles({ types: false })).toEqual([])
})

test('no file takes part in a cycle of types, but for the parts of one batch, which share its state', () => {
  const batch = ['batch-progress', 'batch-run', 'cuts', 'far-end', 'isolate', 'stride', 'sub-batch']
  expect(inCycles({ types: true })).toEqual(batch.map((name) => `operations/${name}.ts`))
})

test('no file is longer than 300 lines, no line longer than 260 characters', () => {
  const long = files.filter((file) => (textOf.get(file) ?? '').split('\n').length > 300)
  expect(long).toEqual([])
  expect(files.filter((file) => (textOf.get(file) ?? '').split('\n').some((line) => line.length > 260))).toEqual([])
})

describe('SQL', () => {
  const keyword =
    /[`'"]\s*(?:with \w+ as|select |insert into|update \w+[.\w]* set|delete from|alter |create (?:table|schema|role|function|index)|drop )/i

  test("on our tables is in store, on users' tables in targets, on statistics in probes, and nowhere else", () => {
    const homes =
      /^(store|targets|governor\/probes)\/|^cli\/demo\/|^cli\/commands\/init|^observe\/doctor\.ts$|^operations\/(batch|expire|define)\.ts$/
    const strays = files.filter((file) => !homes.test(file) && keyword.test(stripComments(textOf.get(file) ?? '')))
    expect(strays).toEqual([])
  })

  test('in store is a whole text: nothing is put into it but what is made there', () => {
    const statements = [...textOf]
      .filter(([file]) => file.startsWith('store/'))
      .flatMap(([file, text]) =>
        [...text.matchAll(/statement<[\s\S]*?>\(\s*'[\w.]+',\s*`([\s\S]*?)`/g)].map(([, sql]) => ({
          file,
          sql: sql ?? '',
        })),
      )
    expect(statements.length).toBeGreaterThan(20)
    const built = statements.flatMap(({ file, sql }) =>
      [...sql.matchAll(/\$\{([^}]*)\}/g)].map(([, hole]) => `${file}: ${hole}`),
    )
    // Lists of columns and a lock that several statements share, and one constant.
    const pieces = [
      'batches.ts: claimColumns',
      'batches.ts: operationFirst',
      'lifecycle.ts: operationFirst',
      ...['live', 'dead', 'done'].flatMap((kept) => [
        ...['Columns', 'From'].map((piece) => `jobs/views.ts: ${kept}${piece}`),
        ...['Columns', 'From', 'Where'].map((piece) => `jobs/lists.ts: ${kept}${piece}`),
      ]),
      'alerts.ts: standing',
      'jobs/failures.ts: fingerprint',
      'operations.ts: liveBatches',
      'operations.ts: liveColumns',
      'operations.ts: pastColumns',
      'picking.ts: claimColumns',
      'schedules.ts: columns',
      ...['span', 'during'].map((piece) => `samples.ts: ${piece}`),
    ]
    expect(built.filter((hole) => !pieces.includes(hole.replace('store/', '')))).toEqual([])
  })
})

function stripComments(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/^\s*\/\/.*$/gm, '')
}

describe('names', () => {
  test('say what is inside: no catch-all files', () => {
    const catchAll = /(^|\/)(utils?|helpers?|types|interfaces|constants|common|misc|shared)(\.ts|\/)/
    expect(files.filter((file) => catchAll.test(file))).toEqual([])
  })

  test('are kebab-case, and nothing is exported by default', () => {
    expect(files.filter((file) => !/^[a-z0-9/.-]+\.tsx?$/.test(file))).toEqual([])
    expect(files.filter((file) => /^export default/m.test(codeOf(file)))).toEqual([])
  })

  test('name no vague role', () => {
    const vague =
      /\b(?:class|interface|function|const)\s+\w*(?:Manager|Helper|Util|Service|Processor|Impl|Internal)\b|\bI[A-Z]\w+ (?:extends|\{)|\bfunction (?:handle|do)[A-Z]/
    expect(files.filter((file) => vague.test(textOf.get(file) ?? ''))).toEqual([])
  })

  test('of test files follow the room that they test', () => {
    const here = fileURLToPath(new URL('.', import.meta.url))
    const folders = readdirSync(here, { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map(({ name }) => name)
    const other = ['browser', 'contracts', 'e2e', 'faults', 'mutants', 'types', 'support', 'torture', 'docs']
    const rooms = new Set(Object.keys(mayImport).map((room) => room.split('/')[0]))
    expect(folders.filter((name) => !rooms.has(name) && !other.includes(name))).toEqual([])
  })
})

test('the front door is a table of contents', () => {
  const index = textOf.get('index.ts') ?? ''
  expect(index.split('\n').length).toBeLessThan(200)
  expect(index).not.toMatch(/^(?:const|function|class|let)\b/m)
})
