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
}

const textOf = new Map(files.map((file) => [file, readFileSync(join(src, file), 'utf8')]))

/** The code alone: a template may hold a file that is written for the user. */
const codeOf = (file: string): string => (textOf.get(file) ?? '').replace(/`[^`]*`/g, '``')

function importsOf(file: string): Import[] {
  const pattern = /^\s*(?:import|export)\s+(?:[^'";]*?\sfrom\s+)?'([^']+)'|import\('([^']+)'\)/gm
  return [...codeOf(file).matchAll(pattern)].map(([, fixed, dynamic]) => ({
    path: resolve(file, fixed ?? dynamic ?? ''),
  }))
}

const resolve = (file: string, path: string): string => (path.startsWith('.') ? join(dirname(file), path) : path)

/** A folder of `src`, or of one of its two houses of small rooms, or a kind of target, or a file that is a room. */
const roomOf = (path: string): string =>
  (/^(?:patterns|observe)\/[^/]+|^targets\/postgres|^[^/]+/.exec(path)?.[0] ?? path).replace(/\.tsx?$/, '')

/** What each room may import beside itself: rooms, single files, and packages. Node's own modules are free to all. */
const mayImport: Record<string, string[]> = {
  std: [],
  errors: [],
  version: [],
  telemetry: ['std', 'pino'],
  // Of the engines it implements ports, and imports nothing else.
  store: [
    'jobs/queue.ts',
    'jobs/ending.ts',
    'jobs/query.ts',
    'jobs/status.ts',
    'patterns/batches/batch-store.ts',
    'patterns/batches/status.ts',
    'std',
    'errors',
    'version',
    'telemetry',
    'pg',
  ],
  args: ['std', 'errors', '@standard-schema/spec'],
  // The port: of the store it knows types alone.
  targets: [
    'store/batches.ts',
    'store/connection.ts',
    'store/operations.ts',
    'store/sqlstate.ts',
    'std',
    'errors',
    'sql-template-tag',
  ],
  'targets/postgres': [
    'targets',
    'store/batches.ts',
    'store/connection.ts',
    'store/database.ts',
    'store/free-text.ts',
    'store/operations.ts',
    'store/pool.ts',
    'store/sqlstate.ts',
    'store/statement.ts',
    'store/table-settings.ts',
    'std',
    'errors',
    'sql-template-tag',
  ],
  'observe/doctor': ['governor', 'store', 'std', 'errors'],
  runtime: ['store', 'telemetry', 'std', 'errors'],
  governor: ['config/option.ts', 'runtime', 'targets', 'store', 'telemetry', 'std', 'errors'],
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
  jobs: ['args', 'targets/postgres', 'runtime', 'store', 'telemetry', 'std', 'errors', '@standard-schema/spec'],
  'patterns/schedules': ['args', 'jobs', 'operations', 'runtime', 'store', 'telemetry', 'std', 'errors', 'croner'],
  'patterns/batches': ['jobs', 'runtime', 'store', 'telemetry', 'std', 'errors'],
  'patterns/reconcilers': [
    'jobs',
    'targets',
    'targets/postgres',
    'runtime',
    'store',
    'telemetry',
    'std',
    'errors',
    'sql-template-tag',
  ],
  'patterns/machines': [
    'jobs',
    'patterns/reconcilers',
    'targets/postgres',
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
  'patterns/sweeps': [
    'targets',
    'targets/postgres',
    'runtime',
    'store',
    'telemetry',
    'std',
    'errors',
    'sql-template-tag',
  ],
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
    'targets/postgres',
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
    'targets',
    'targets/postgres',
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
    'targets',
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
  return may.some((name) => name === path || name === roomOf(path))
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

test('the engines reach jobs in their store through the port only', () => {
  const behind = /^store\/(jobs\/|job-batches\.ts|job-batch-views\.ts|listen\.ts)/
  const wrong = files
    .filter((file) => /^(jobs|patterns)\//.test(file))
    .flatMap((file) => importsOf(file).flatMap(({ path }) => (behind.test(path) ? [`${file} -> ${path}`] : [])))
  expect(wrong).toEqual([])
})

/** Where a batch is decided about, from taken to finished: each knows those after it, and none those before it. */
const batchSpine = [
  'operations/take.ts',
  'operations/batch-loop.ts',
  'operations/next-stretch.ts',
  'targets/postgres/commit.ts',
  'operations/batch-end.ts',
]

/**
 * The files that one batch of a preset passes on a PostgreSQL target, in the order in which they are entered, without
 * `std`, `telemetry`, the connection, and what only errors, rows in quarantine, strides and a second pass need.
 */
const batchPath = [
  'operations/worker.ts',
  'operations/take.ts',
  'operations/belonging.ts',
  'operations/off-peak.ts',
  'operations/walk.ts',
  'operations/cuts.ts',
  'store/picking.ts',
  'targets/postgres/target.ts',
  'targets/postgres/cut.ts',
  'targets/postgres/window.ts',
  'operations/batch-loop.ts',
  'operations/batch-begin.ts',
  'targets/postgres/enter.ts',
  'targets/postgres/strides.ts',
  'operations/batch-position.ts',
  'operations/batch-sizes.ts',
  'operations/sizes.ts',
  'operations/size.ts',
  'governor/governor.ts',
  'operations/next-stretch.ts',
  'targets/postgres/stretch.ts',
  'targets/postgres/commit.ts',
  'targets/postgres/one-statement.ts',
  'targets/postgres/fence.ts',
  'targets/postgres/change.ts',
  'operations/batch-end.ts',
  'store/batches.ts',
]

test('a batch passes few files, and its spine is read downward', () => {
  expect(batchPath.filter((file) => !textOf.has(file))).toEqual([])
  expect(batchPath.length).toBeLessThanOrEqual(27)
  expect(batchSpine.filter((file) => !batchPath.includes(file))).toEqual([])
  const upward = batchSpine.flatMap((file, at) =>
    importsOf(file).flatMap(({ path }) => (batchSpine.slice(0, at).includes(path) ? [`${file} -> ${path}`] : [])),
  )
  expect(upward).toEqual([])
})

/**
 * The files that one job passes from enqueue to history in PostgreSQL, in the order in which they are entered, without
 * `std`, `telemetry`, the connection, and what only transactions, batches and lost answers need.
 */
const jobPath = [
  'jobs/jobs.ts',
  'jobs/enqueue.ts',
  'jobs/bound.ts',
  'jobs/trace.ts',
  'store/jobs/postgres-queue.ts',
  'store/jobs/enqueuer.ts',
  'store/coalescer.ts',
  'store/jobs/enqueue.ts',
  'store/jobs/hints.ts',
  'jobs/worker.ts',
  'store/jobs/claimer.ts',
  'store/jobs/where-to-look.ts',
  'store/jobs/claim.ts',
  'jobs/attempt.ts',
  'jobs/runner.ts',
  'jobs/context.ts',
  'jobs/policy.ts',
  'jobs/completer.ts',
  'jobs/held-claims.ts',
  'store/jobs/endings.ts',
  'store/jobs/settle.ts',
  'jobs/report.ts',
]

test('a job passes few files, and none of them knows the worker that it comes from', () => {
  expect(jobPath.filter((file) => !textOf.has(file))).toEqual([])
  expect(jobPath.length).toBeLessThanOrEqual(22)
  const upward = jobPath.filter((file) => importsOf(file).some(({ path }) => path === 'jobs/worker.ts'))
  expect(upward).toEqual([])
})

/** How many methods an interface has. */
function methodsOf(file: string, name: string): number {
  const [, body = ''] = new RegExp(`interface ${name} \\{\n([\\s\\S]*?)\n\\}`).exec(textOf.get(file) ?? '') ?? []
  return new Set([...body.matchAll(/^ {2}(\w+)[<(]/gm)].map(([, method]) => method)).size
}

test('the port to the store of jobs has at most ten methods, and so has the one to batches of jobs', () => {
  for (const count of [
    methodsOf('jobs/queue.ts', 'JobQueue'),
    methodsOf('patterns/batches/batch-store.ts', 'BatchStore'),
  ]) {
    expect(count).toBeGreaterThan(5)
    expect(count).toBeLessThanOrEqual(10)
  }
})

test('the port to targets has at most ten members', () => {
  const [, body = ''] = /export interface Target \{\n([\s\S]*?)\n\}/.exec(textOf.get('targets/target.ts') ?? '') ?? []
  const members = body.match(/^ {2}(readonly )?\w+[(:]/gm) ?? []
  expect(members.length).toBeGreaterThan(5)
  expect(members.length).toBeLessThanOrEqual(10)
})

test('only the command line, the dashboard and the tools for tests import the front door from inside', () => {
  const importers = files.filter((file) => importsOf(file).some(({ path }) => path === 'index.ts'))
  expect(importers.filter((file) => !['cli', 'dashboard', 'testing'].includes(roomOf(file)))).toEqual([])
})

/** The files that take part in a cycle of imports, those of types included. */
function inCycles(): string[] {
  const edges = new Map(
    files.map((file) => [
      file,
      importsOf(file)
        .filter((i) => textOf.has(i.path))
        .map((i) => i.path),
    ]),
  )
  const reaches = (from: string, to: string, seen = new Set<string>()): boolean =>
    (edges.get(from) ?? []).some((next) => next === to || (!seen.has(next) && reaches(next, to, seen.add(next))))
  return files.filter((file) => reaches(file, file))
}

test('no file takes part in a cycle, not even of types', () => {
  expect(inCycles()).toEqual([])
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
      /^(store|targets|governor\/probes)\/|^cli\/demo\/|^cli\/commands\/init|^observe\/doctor\.ts$|^operations\/(expire|define)\.ts$/
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

test('what the code is measured by stays within its limits', () => {
  const index = textOf.get('index.ts') ?? ''
  const rooms = new Set(files.flatMap((file) => (file.includes('/') ? [file.split('/')[0]] : [])))
  const words = readFileSync(join(src, '..', 'ARCHITECTURE.md'), 'utf8')
    .split(/\s+/)
    .filter(Boolean).length
  const lines = files.reduce((sum, file) => sum + (textOf.get(file) ?? '').split('\n').length - 1, 0)
  const measures: [what: string, now: number, most: number][] = [
    ['files that a batch passes', batchPath.length, 27],
    ['of these, its spine', batchSpine.length, 5],
    ['files that a job passes', jobPath.length, 22],
    ['files in a cycle of imports', inCycles().length, 0],
    ['rooms in src', rooms.size, 17],
    ['files in src', files.length, 660],
    ['lines in src', lines, 53_500],
    ['lines of the front door', index.split('\n').length - 1, 200],
    ['words of ARCHITECTURE.md', words, 1_500],
  ]
  process.stdout.write(
    `${measures.map(([what, now]) => `  ${what.padEnd(30)}${now.toLocaleString('en-US')}`).join('\n')}\n`,
  )
  expect(measures.filter(([, now, most]) => now > most)).toEqual([])
})
