import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { renderLine, type Line } from '../../src/cli/output.ts'
import { planLines } from '../../src/cli/plan-lines.ts'
import type { OperationPlan } from '../../src/index.ts'
import { testDatabase } from '../support/database.ts'
import { sluiceHere, temporaryFolder, type Ran } from './run-cli.ts'

const plan: OperationPlan = {
  name: 'expire-events',
  table: 'public.events',
  walk: {
    kind: 'sparse',
    index: 'events_created_at_idx',
    columns: ['created_at', 'id'],
    says: 'along events_created_at_idx, which has the rows in scope alone',
    why: 'events_created_at_idx finds the rows in scope alone',
  },
  cursor: ['created_at', 'id'],
  from: null,
  to: ['2024', '7'],
  scope: '"created_at" < $1',
  estimate: {
    rowsToSee: 5_000_000,
    rowsToChange: 2_500_000,
    by: 'samples',
    sampled: { windows: 10, rows: 10_000, matched: 5_000 },
    batches: 100,
    tableBytes: 1_200_000_000,
    bytesToChange: 600_000_000,
    walBytes: 250_000_000,
    durationMs: { from: 45_000, to: 240_000 },
  },
  statements: [
    {
      statement: 'carve',
      text: 'select',
      found: 'index events_pkey',
      indexes: ['events_pkey'],
      plan: { 'Node Type': 'Limit' },
    },
    {
      statement: 'work',
      text: 'delete',
      found: 'index events_pkey',
      indexes: ['events_pkey'],
      plan: { 'Node Type': 'Limit' },
    },
  ],
  findings: [
    {
      check: 'foreign key',
      severity: 'warn',
      what: 'marks refers to public.events by marks_event_id_fkey, and no index of it starts with (event_id)',
      why: 'Each deleted row makes the database read all of marks, about 1,000,000 rows',
      remedy: 'Run: create index concurrently on marks ("event_id");',
    },
    {
      check: 'unlogged',
      severity: 'note',
      what: 'public.events is unlogged',
      why: 'A crash empties it',
      remedy: 'Nothing',
    },
  ],
  refused: false,
  dryRun: {
    outcome: 'rolled back',
    reason: null,
    run: {
      rowsMatched: 1_000,
      rowsChanged: 1_000,
      elapsedMs: 12.3,
      walBytes: 100_000,
      updated: 500,
      hot: 0,
      deleted: 500,
      others: [],
      rows: [
        { key: ['2023', '1'], outcome: 'deleted', before: { note: 'a\u001b[31mb', n: null }, after: null },
        { key: ['2023', '2'], outcome: 'changed', before: { n: '1', note: '' }, after: { n: '2', note: 'x' } },
        { key: ['2023', '3'], outcome: 'unchanged', before: {}, after: {} },
      ],
    },
  },
}

const text = (lines: readonly Line[], coloured = false): string[] => lines.map((line) => renderLine(line, coloured))

test('a plan: the numbers, the dry run and what to think about', () => {
  expect(text(planLines(plan))).toEqual([
    'expire-events would walk public.events: about 5,000,000 rows, 100 batches',
    '  walk      along events_created_at_idx, which has the rows in scope alone',
    '  because   events_created_at_idx finds the rows in scope alone',
    '  cursor    created_at, id',
    '  from      the first row',
    '  to        (2024, 7), included',
    '  scope     "created_at" < $1',
    '  in scope  about 2,500,000 rows (50 %), by 5,000 of 10,000 rows in 10 places along the key',
    '  on disk   1.1 GB, about 572 MB of it in scope',
    '  log       about 238 MB',
    '  time      45 s to 4 min at full pace',
    '  carve     index events_pkey',
    '  work      index events_pkey',
    '',
    'Dry run, rolled back: 1,000 of 1,000 rows changed in 12 ms, 98 kB of log',
    '  key        before → after',
    '  (2023, 1)  deleted: note a\\u001b[31mb, n null',
    "  (2023, 2)  n 1 → 2, note '' → x",
    '  (2023, 3)  unchanged',
    '',
    '1 warning, 1 note',
    '! foreign key: marks refers to public.events by marks_event_id_fkey, and no index of it starts with (event_id)',
    '  Each deleted row makes the database read all of marks, about 1,000,000 rows',
    '  → Run: create index concurrently on marks ("event_id");',
    '· unlogged: public.events is unlogged',
    '  A crash empties it',
    '  → Nothing',
  ])
})

test('a plan fits into 80 columns, and into 50, with the same words in colour', () => {
  for (const width of [80, 50]) {
    const lines = text(planLines(plan, width))
    expect(lines.filter((line) => line.length > width)).toEqual([])
    // oxlint-disable-next-line no-control-regex
    const plain = text(planLines(plan, width), true).map((line) => line.replaceAll(/\u001b\[\d+m/g, ''))
    expect(plain).toEqual(lines)
  }
})

test('a plan without a dry run, and for an empty table', () => {
  const dryRun = { outcome: 'left out', reason: 'it was not asked for', run: null } as const
  expect(text(planLines({ ...plan, dryRun, findings: [] })).at(-1)).toBe('No dry run: it was not asked for')
  const empty = { ...plan, from: ['5'], to: null, scope: null, statements: [], findings: [], dryRun }
  expect(text(planLines(empty)).slice(0, -2)).toEqual([
    'expire-events would walk public.events and find no row',
    '  walk     along events_created_at_idx, which has the rows in scope alone',
    '  because  events_created_at_idx finds the rows in scope alone',
    '  cursor   created_at, id',
    '  from     after 5',
    '  to       nowhere: there is no row',
    '  scope    all rows',
  ])
})

const config = `import { defineOperation, expire, sql } from 'sluice'
export default {
  operations: [
    expire({ name: 'expire-events', table: 'events', olderThan: '90 days', by: 'at' }),
    defineOperation({ name: 'count-codes', table: 'codes', cursor: ['code'], perform: ({ batch }) => batch.update(sql\`n = n + 1\`) }),
  ],
}`

test('plan and start of an operation that is refused end with 6, and --force starts it', async () => {
  await using db = await testDatabase()
  await using folder = await temporaryFolder()
  await writeFile(join(folder.path, 'sluice.config.ts'), config)
  await db.query('create table events (id bigint primary key, at timestamptz not null, note text)')
  await db.query(`insert into events select i, '2020-01-01', 'old' from generate_series(1, 30) i`)
  await db.query('create table marks (id int primary key, event_id bigint references events)')
  await db.query('create table codes (code text not null, n int not null default 0)')
  await db.query('create unique index on codes (code text_pattern_ops)')
  await db.query(`insert into codes select 'code ' || i from generate_series(1, 300) i`)
  await db.query('analyze')
  const ops = (...args: string[]): Promise<Ran> =>
    sluiceHere(['ops', ...args], { folder: folder.path, env: { DATABASE_URL: db.url } })

  const fine = await ops('plan', 'expire-events')
  expect(fine.exitCode).toBe(0)
  expect(fine.stdout).toContain('Dry run, rolled back: 30 of 30 rows changed')
  expect(fine.stdout).toContain('! foreign key: marks refers to public.events')
  expect((await ops('plan', 'expire-events', '--no-dry-run')).stdout).toContain('No dry run: it was not asked for')
  expect(await db.value('select count(*)::int from events')).toBe(30)

  const refused = await ops('plan', 'count-codes')
  expect(refused.exitCode).toBe(6)
  expect(refused.stdout).toContain('✗ scan: No index of public.codes serves the cursor (code)')
  expect(refused.stderr).toContain('sluice ops start count-codes --force')
  const asJson = await ops('plan', 'count-codes', '--json')
  expect(asJson.exitCode).toBe(6)
  const { version, plan: told } = JSON.parse(asJson.stdout)
  expect({ version, refused: told.refused }).toEqual({ version: 1, refused: true })
  expect(told.findings[0]).toMatchObject({ severity: 'refuse', code: 'PLAN_SCANS' })
  expect(told.statements[0].plan).toHaveProperty('Node Type')

  const notStarted = await ops('start', 'count-codes')
  expect(notStarted).toMatchObject({ exitCode: 6, stdout: '' })
  expect(notStarted.stderr).toContain('(PLAN_SCANS)')
  expect(await db.value('select count(*)::int from sluice.operation')).toBe(0)
  const forced = await ops('start', 'count-codes', '--force', '--json')
  expect(forced.exitCode).toBe(0)
  expect(JSON.parse(forced.stdout)).toMatchObject({ duplicate: false, findings: [{ check: 'scan' }] })
  const warned = await ops('start', 'expire-events')
  expect(warned).toMatchObject({ exitCode: 0, stderr: expect.stringContaining('warning: marks refers to') as string })
})
