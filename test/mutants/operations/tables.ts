import type { Mutant } from '../mutant.ts'

const window = 'src/targets/postgres/window.ts'
const sample = 'src/targets/postgres/sample.ts'
const rehearsal = 'src/targets/postgres/rehearsal.ts'
const inTargets = (file: string, test: string): Mutant['caughtBy'] => ({ file: `test/targets/${file}.test.ts`, test })
const inOperations = (file: string, test: string): Mutant['caughtBy'] => ({
  file: `test/operations/${file}.test.ts`,
  test,
})
const anyNames = inTargets('names', 'keys are found in the order of their columns, whatever those are called')
const inZone = (change: string): Mutant['caughtBy'] =>
  inOperations('time-zone', `rows are ${change} by their age in the zone in which the column was written`)

/** What tables of users may be like, whatever their columns, zones, rules and encodings are. */
export const tables: readonly Mutant[] = [
  {
    name: 'last-key-by-its-text',
    breaks: 'a run reaches every row: along a column "key" it ends at the key that comes last as a text',
    edits: [
      {
        file: window,
        from: 'select ${keyText(walk.cursor)} as sluicekey\n    from ${raw(walk.table)}',
        to: 'select ${keyText(walk.cursor)} as key\n    from ${raw(walk.table)}',
      },
      {
        file: window,
        from: '(rows[0] as { sluicekey: string[] } | undefined)?.sluicekey ?? null',
        to: 'rows[0]?.sluicekey ?? rows[0]?.key ?? null',
      },
    ],
    caughtBy: inTargets('names', 'an operation along ["key"] reaches every row'),
  },
  {
    name: 'key-before-end-by-its-text',
    breaks: 'columns may have any name: the key before the end is found by its text where one is called "key"',
    edits: [
      {
        file: sample,
        from: 'select ${keyText(walk.cursor)} as sluicekey\n    from ${raw(walk.table)}\n    where ${onWalk(walk, range)}\n    order by',
        to: 'select key as sluicekey from (select ${keyText(walk.cursor)} as key\n    from ${raw(walk.table)}\n    where ${onWalk(walk, range)}\n    order by',
      },
      { file: sample, from: 'offset ${count}\n    limit 1`', to: 'offset ${count}\n    limit 1) k`' },
    ],
    caughtBy: anyNames,
  },
  {
    name: 'keys-along-by-their-texts',
    breaks: 'columns may have any name: keys along a walk are found by their texts where one is called "key"',
    edits: [
      {
        file: sample,
        from: 'select ${keyText(walk.cursor)} as sluicekey\n      from',
        to: 'select ${keyText(walk.cursor)} as key\n      from',
      },
      { file: sample, from: 'select start.sluicekey\n', to: 'select start.key as sluicekey\n' },
    ],
    caughtBy: anyNames,
  },
  {
    name: 'dry-run-by-texts',
    breaks: 'columns may have any name: a dry run shows other rows than the first where one is called "key"',
    edits: [
      { file: rehearsal, from: '${keyText(cursor)} as sluicekey,', to: '${keyText(cursor)} as key,' },
      { file: rehearsal, from: 'key: row.sluicekey,', to: 'key: row.key,' },
    ],
    caughtBy: anyNames,
  },
  {
    name: 'expiry-without-its-zone',
    breaks: 'an age counts in the zone of the column: an expiry takes it in that of the database',
    edits: [
      {
        file: 'src/targets/postgres/age.ts',
        from: 'zone === undefined ? sql`${from}::timestamptz` : sql`(${from}::timestamptz at time zone ${zone})`',
        to: 'sql`${from}::timestamptz`',
      },
    ],
    caughtBy: inZone('deleted'),
  },
  {
    name: 'anonymisation-without-its-zone',
    breaks: 'an age counts in the zone of the column: an anonymisation takes it in that of the database',
    edits: [{ file: 'src/operations/age.ts', from: 'if (zone !== undefined) {', to: "if (zone === '') {" }],
    caughtBy: inZone('made anonymous'),
  },
  {
    name: 'no-plan-of-a-rule',
    breaks: 'an operation whose change a rule replaces says so: it ends with an error of ours, for want of a plan',
    edits: [
      {
        file: 'src/targets/postgres/explain.ts',
        from: "answer?.['QUERY PLAN'][0]?.Plan ?? { 'Node Type': 'Result' }",
        to: "answer!['QUERY PLAN'][0]!.Plan!",
      },
    ],
    caughtBy: inOperations('rows-kept', 'an operation whose change a rule replaces stops and says so: preset'),
  },
  {
    name: 'idempotency-key-shared',
    breaks: 'each row has an idempotency key of its own: parts of keys with a colon make two rows share one',
    edits: [
      {
        file: 'src/targets/postgres/cursor.ts',
        from: 'key.map((part) => part.replaceAll(/[\\\\:]/g, String.raw`\\$&`)).join',
        to: 'key.join',
      },
    ],
    caughtBy: inOperations(
      'external-keys',
      'no two rows share an idempotency key, whatever is in the parts of their keys',
    ),
  },
  {
    name: 'error-in-foreign-letters',
    breaks: 'a row that fails is isolated: its error has letters that the database cannot store',
    edits: [
      {
        file: 'src/targets/postgres/set-aside.ts',
        from: '${freeJson(error)}::text::jsonb',
        to: '${JSON.stringify(error)}::text::jsonb',
      },
    ],
    caughtBy: inOperations('encoding', 'an error is kept in a database that cannot store its text'),
  },
  {
    name: 'comment-swallows',
    breaks: 'SQL of users may end in a comment: it swallows what follows',
    edits: [{ file: 'src/targets/fragment.ts', from: 'sql`${given}\\n`', to: 'sql`${given}`' }],
    caughtBy: inTargets(
      'fragment',
      'a comment at the end of the condition of a change swallows nothing of what follows',
    ),
  },
  {
    name: 'operations-never-forgotten',
    breaks: 'memory does not grow with the operations: a process remembers all that it ever worked on',
    edits: [
      {
        file: 'src/std/recent.ts',
        from: '    for (const oldest of this.#kept.keys()) if (this.#kept.size > this.#most) this.#kept.delete(oldest)\n',
        to: '',
      },
    ],
    caughtBy: inOperations('memory', 'a process remembers the last operations, not all that it ever worked on'),
  },
  {
    name: 'more-changed-than-seen',
    breaks: 'no more rows are shown as changed than as seen: strides change them before they are passed',
    edits: [
      {
        file: 'src/operations/status.ts',
        from: 'rowsSeen: Math.max(view.rows_seen, view.rows_matched)',
        to: 'rowsSeen: view.rows_seen',
      },
    ],
    caughtBy: inOperations('status', 'an operation never shows more rows in scope than it has seen'),
  },
  {
    name: 'probe-in-logical-replication',
    breaks: 'whoever decodes the log gets changed rows only: a probe sends a message of its own',
    edits: [
      {
        file: 'src/store/governing.ts',
        from: "select from sluice.budget where kind = 'rows' for key share",
        to: "select pg_logical_emit_message(true, 'sluice', '')",
      },
    ],
    caughtBy: inOperations(
      'logical-replication',
      'neither operations nor probes send messages of their own to logical replication',
    ),
  },
]
