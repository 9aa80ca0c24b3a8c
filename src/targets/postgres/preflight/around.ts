import type { AgedPartition, Ground, Reference, RowTrigger, Surroundings } from '../surroundings.ts'
import type { StrideChoice } from '../strides.ts'
import type { Changes } from '../../changes.ts'
import type { PlanFinding } from '../../findings.ts'

/** A table and what lies around it, to be judged. */
export interface Around {
  /** Qualified and quoted. */
  table: string
  ground: Pick<Ground, 'analyzed'>
  surroundings: Surroundings
  changes: Changes
  /** Partitions that hold nothing but rows to be deleted. */
  aged: readonly AgedPartition[]
  /** How rows of full pages are dealt with. */
  stride: StrideChoice
}

/** What lies around a table and concerns a change of its rows. */
export function findAround(around: Around): PlanFinding[] {
  return [
    ...findReferences(around),
    ...findTriggers(around),
    ...findKeepers(around),
    ...findIdentity(around),
    ...findColdUpdates(around),
    ...findPartitions(around),
    ...findZone(around),
    ...findInvalidIndexes(around),
    ...findHiddenRows(around),
    ...findStatistics(around),
  ]
}

const count = (value: number): string => Math.round(value).toLocaleString('en-US')
const listed = (names: readonly string[]): string => names.join(', ')

function findReferences({ table, surroundings, changes }: Around): PlanFinding[] {
  if (changes.kind === 'update') return []
  const when = changes.kind === 'delete' ? '' : ' if rows are deleted'
  const bare = surroundings.references.filter(({ indexed }) => !indexed)
  const acting = surroundings.references.filter(({ onDelete }) => onDelete !== 'nothing')
  return [...bare.map((reference) => bareReference(table, reference, when)), ...cascade(table, acting, when)]
}

function bareReference(table: string, { name, child, columns, childRows }: Reference, when: string): PlanFinding {
  const keys = columns.map((column) => `"${column.replaceAll('"', '""')}"`).join(', ')
  return {
    check: 'foreign key',
    severity: 'warn',
    what: `${child} refers to ${table} by ${name}, and no index of it starts with (${listed(columns)})`,
    why: `Each deleted row makes the database read all of ${child}, about ${count(childRows)} rows${when}`,
    remedy: `Run: create index concurrently on ${child} (${keys});`,
  }
}

function cascade(table: string, acting: readonly Reference[], when: string): PlanFinding[] {
  if (acting.length === 0) return []
  const tables = acting.map(({ child, onDelete }) => `${child} (${onDelete})`)
  const number = acting.length === 1 ? 'One foreign key changes' : `${acting.length} foreign keys change`
  return [
    {
      check: 'cascade',
      severity: 'warn',
      what: `${number} rows of other tables together with those of ${table}: ${listed(tables)}`,
      why: `What a cascade does cannot be throttled, is not counted, and is in the same transaction${when}`,
      remedy: 'Let an operation of its own delete the rows of the other table first',
    },
  ]
}

function findTriggers({ surroundings, changes }: Around): PlanFinding[] {
  const firing = surroundings.triggers.filter((trigger) => fires(trigger, changes))
  if (firing.length === 0) return []
  const names = listed(firing.map(({ name }) => name))
  return [
    {
      check: 'trigger',
      severity: 'warn',
      what: firing.length === 1 ? `The trigger ${names} runs for each row` : `The triggers ${names} run for each row`,
      why: 'What they do is in the same transaction, and takes its time from the sub-batch',
      remedy: 'Look at the rate of the dry run; make sure that they shall run for these rows',
    },
  ]
}

/** Triggers and rules because of which a row may stay as it is, though the database says that all went well. */
function findKeepers({ table, surroundings, changes }: Around): PlanFinding[] {
  const cancelling = surroundings.triggers.filter((trigger) => trigger.cancels && fires(trigger, changes))
  const replacing = surroundings.rules.filter((rule) => fires({ ...rule, columns: [] }, changes))
  const why = 'A row that stays as it is cannot be told from one that is done, until somebody looks at it'
  const remedy = `Leave such rows out by the scope; a preset isolates them, and ${changes.kind === 'unknown' ? 'your own work should look at what it changed' : 'stops when they are many'}`
  const found = (check: 'trigger' | 'rule', what: string): PlanFinding => ({
    check,
    severity: 'warn',
    what,
    why,
    remedy,
  })
  return [
    ...cancelling.map(({ name }) => found('trigger', `The trigger ${name} of ${table} may cancel the change of a row`)),
    ...replacing.map(({ name }) =>
      found('rule', `The rule ${name} of ${table} does something else instead of the change`),
    ),
  ]
}

function fires(trigger: Omit<RowTrigger, 'cancels' | 'name'>, { kind, columns = [] }: Changes): boolean {
  if (kind === 'delete') return trigger.onDelete
  const named = trigger.columns.length === 0 || trigger.columns.some((column) => columns.includes(column))
  return kind === 'update' ? trigger.onUpdate && named : trigger.onDelete || trigger.onUpdate
}

function findIdentity({ table, surroundings }: Around): PlanFinding[] {
  if (!surroundings.identityFull) return []
  return [
    {
      check: 'replica identity',
      severity: 'warn',
      what: `${table} has REPLICA IDENTITY FULL`,
      why: 'The whole old row goes into the log with each change, and a subscriber may read its whole table for each row',
      remedy: `Where a unique index will do, run: alter table ${table} replica identity default;`,
    },
  ]
}

/** A new version of a row that stays on its page needs no entry in any index; see HOT in the manual of PostgreSQL. */
function findColdUpdates({ table, surroundings, changes, stride }: Around): PlanFinding[] {
  if (changes.kind !== 'update') return []
  const touched = (columns: readonly string[]): boolean =>
    columns.some((column) => changes.columns?.includes(column) === true)
  const hit = surroundings.indexes.filter(({ columns, summarizing }) => !summarizing && touched(columns))
  if (hit.length > 0) {
    return [
      {
        check: 'HOT',
        severity: 'warn',
        what: `The update sets columns that are in ${hit.length === 1 ? 'the index' : 'the indexes'} ${listed(hit.map(({ name }) => name))}`,
        why: `No update can be HOT: each changed row is written to every index of ${table}; it has ${surroundings.indexes.length}`,
        remedy: 'Where nothing needs it meanwhile, create the index after the operation and not before',
      },
    ]
  }
  if (stride.of > 1) return [strided(table, stride)]
  if (surroundings.fillfactor < 100) return []
  return [
    {
      check: 'HOT',
      severity: 'note',
      what: `Updates can be HOT as long as there is room on the page, and ${table} is filled to 100 %`,
      why: `On full pages the new version goes to another page, and each changed row is written to all indexes. Strides are not used: ${stride.why}`,
      remedy: `For rows that are written from now on: alter table ${table} set (fillfactor = 90);`,
    },
  ]
}

function strided(table: string, { of, why }: StrideChoice): PlanFinding {
  return {
    check: 'HOT',
    severity: 'note',
    what: `Each transaction changes one row in ${of} of each page of ${table}: ${why}`,
    why: 'New versions then find room on their page, and few rows are written to indexes. A transaction or a replica that holds an old snapshot meanwhile would keep the room from being made',
    remedy: 'Nothing has to be done; "stride: 1" in the definition does without',
  }
}

function findPartitions({ table, changes, aged }: Around): PlanFinding[] {
  if (aged.length === 0 || changes.aged === undefined) return []
  const rows = aged.reduce((sum, partition) => sum + partition.rows, 0)
  const names = aged.slice(0, 3).map(({ name }) => name)
  const all = aged.length > 3 ? `${listed(names)} and ${aged.length - 3} more` : listed(names)
  return [
    {
      check: 'partitions',
      severity: 'warn',
      what: `${table} is partitioned by ${changes.aged.by}, and all rows of ${aged.length === 1 ? 'one partition' : `${aged.length} partitions`} are old enough: ${all}`,
      why: `To drop a partition takes no time and leaves no dead rows; to delete its rows does both, for about ${count(rows)} rows`,
      remedy: `Run: alter table ${table} detach partition ${aged[0]?.name ?? ''} concurrently; then drop it`,
    },
  ]
}

/** An age of values that do not tell in which zone they are. */
function findZone({ table, surroundings, changes: { timed } }: Around): PlanFinding[] {
  if (timed === undefined || timed.zone !== undefined || !surroundings.zoneless.includes(timed.by)) return []
  return [
    {
      check: 'time zone',
      severity: 'warn',
      what: `The column ${timed.by} of ${table} has no time zone, and its values are taken as times in ${surroundings.zone}`,
      why: 'If they were written in another zone, rows are hours older or younger than they seem, and the wrong ones are taken',
      remedy: `Say in which zone they were written, as in zone: 'UTC'`,
    },
  ]
}

function findInvalidIndexes({ table, surroundings }: Around): PlanFinding[] {
  const invalid = surroundings.indexes.filter(({ valid }) => !valid).map(({ name }) => name)
  if (invalid.length === 0) return []
  return [
    {
      check: 'index',
      severity: 'warn',
      what: `${invalid.length === 1 ? 'The index' : 'The indexes'} ${listed(invalid)} of ${table} ${invalid.length === 1 ? 'is' : 'are'} not valid`,
      why: 'No query uses it, and each change may still have to write it. A build that failed leaves such an index',
      remedy: `Run drop index concurrently for ${invalid.map((name) => `"${name.replaceAll('"', '""')}"`).join(', ')}, and build it again`,
    },
  ]
}

function findHiddenRows({ table, surroundings }: Around): PlanFinding[] {
  const unlogged: PlanFinding = {
    check: 'unlogged',
    severity: 'note',
    what: `${table} is unlogged`,
    why: 'A crash of the server empties it, and a replica has none of its rows',
    remedy: 'Nothing has to be done, where that is meant',
  }
  const secured: PlanFinding = {
    check: 'row security',
    severity: 'warn',
    what: `Row security of ${table} applies to the role of this connection`,
    why: 'Rows that it does not let through are not met, and nothing tells of them',
    remedy: 'Let workers use a role with BYPASSRLS, or make sure that the policy shows all rows in scope',
  }
  return [...(surroundings.unlogged ? [unlogged] : []), ...(surroundings.rowSecurity ? [secured] : [])]
}

function findStatistics({ table, ground }: Around): PlanFinding[] {
  if (ground.analyzed) return []
  return [
    {
      check: 'statistics',
      severity: 'note',
      what: `PostgreSQL has no statistics of ${table}`,
      why: 'Estimates and progress are guesses, and a plan may read far more than it has to',
      remedy: `Run: analyze ${table};`,
    },
  ]
}
