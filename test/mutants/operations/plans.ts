import type { Mutant } from '../mutant.ts'

const resolve = 'src/targets/postgres/preflight/resolve.ts'
const around = 'src/targets/postgres/preflight/around.ts'
const tenants = 'src/operations/tenants.ts'
const inOperations = (file: string, test: string): Mutant['caughtBy'] => ({
  file: `test/operations/${file}.test.ts`,
  test,
})
const keepers = inOperations(
  'rows-kept',
  'triggers that may cancel a change and rules that replace it are told before the start',
)
const notTakenIn = (what: string): Mutant['caughtBy'] =>
  inOperations('tenants', `${what} is not taken in, and the reason is told`)

/** What is refused, or told, before an operation begins. */
export const plans: readonly Mutant[] = [
  {
    name: 'keys-without-an-order',
    breaks: 'a key without an order is refused: it is found out while the operation runs',
    edits: [
      { file: resolve, from: '  await checkOrder(control, shape.qualifiedName, cursor)\n', to: '  void checkOrder\n' },
    ],
    caughtBy: inOperations('start', 'a key without an order'),
  },
  {
    name: 'operation-on-our-tables',
    breaks: 'operations are for tables of users: one on our own changes what decides about it',
    edits: [{ file: resolve, from: '  checkForeign(shape, control.schema)\n', to: '  void checkForeign\n' }],
    caughtBy: inOperations('start', 'a table of ours'),
  },
  {
    name: 'computed-column-set',
    breaks: 'columns that the database computes are refused: a backfill of one starts, and fails',
    edits: [
      {
        file: resolve,
        from: '  checkSettable(shape, changes.columns ?? [])\n',
        to: '  void checkSettable\n',
      },
    ],
    caughtBy: inOperations('start', 'a value for a column that the database computes'),
  },
  {
    name: 'column-numbered-by-the-database-set',
    breaks: 'columns that the database computes are refused: one that it numbers is taken for any other',
    edits: [
      {
        file: 'src/targets/postgres/table.ts',
        from: "a.attgenerated <> '' or a.attidentity = 'a'",
        to: "a.attgenerated <> ''",
      },
    ],
    caughtBy: inOperations('start', 'a value for a column that the database numbers'),
  },
  {
    name: 'quoted-column-not-found',
    breaks: 'an operation that has an index starts: a column whose name is quoted is not found in the plan',
    edits: [
      {
        file: 'src/targets/postgres/explain.ts',
        from: '  if (names.includes(quote(column))) return true\n',
        to: '  void quote\n',
      },
    ],
    caughtBy: { file: 'test/targets/names.test.ts', test: 'an operation along ["order","a$b","at"] reaches every row' },
  },
  {
    name: 'cancelling-trigger-not-told',
    breaks: 'what may keep rows is told before the start: a trigger that cancels changes is not',
    edits: [{ file: around, from: 'trigger.cancels && fires(trigger, changes)', to: 'trigger.cancels && !changes' }],
    caughtBy: keepers,
  },
  {
    name: 'replacing-rule-not-told',
    breaks: 'what may keep rows is told before the start: a rule that replaces the change is not',
    edits: [
      {
        file: 'src/targets/postgres/surroundings.ts',
        from: "r.is_instead and r.ev_type in ('2', '4')",
        to: "r.is_instead and r.ev_type in ('2', '3')",
      },
    ],
    caughtBy: keepers,
  },
  {
    name: 'column-without-zone-not-told',
    breaks: 'an age by a column without a zone is told before the start',
    edits: [{ file: around, from: '    ...findZone(around),\n', to: '' }],
    caughtBy: inOperations(
      'time-zone',
      'an age by a column without a zone is told before the start, with the zone that is taken',
    ),
  },
  {
    name: 'foreign-tenant-taken-in',
    breaks: 'an import takes in what was exported: nobody looks whether it is whole and of one tenant',
    edits: [{ file: tenants, from: 'if (!isWhole(one, tenant)) throw', to: 'if (one === tenant) throw' }],
    caughtBy: notTakenIn('another tenant'),
  },
  {
    name: 'damaged-import-in-words-of-the-database',
    breaks: 'a damaged import is told as such: whoever imports it gets what the database says of a column',
    edits: [
      { file: tenants, from: "if (!/^(22|23)/.test(sqlstate(error) ?? '')) throw", to: 'if (sqlstate(error)) throw' },
    ],
    caughtBy: notTakenIn('an operation without most of it'),
  },
]
