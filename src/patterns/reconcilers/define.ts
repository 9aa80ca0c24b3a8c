import { Sql } from 'sql-template-tag'
import { SluiceError } from '../../errors.ts'
import type { JobDefinition } from '../../jobs/definition.ts'
import type { Registry } from '../../runtime/registry.ts'
import { parseDuration, type Duration } from '../../std/duration.ts'
import { quoted } from '../../std/storable.ts'
import { didYouMean } from '../../std/suggest.ts'
import { aged, type Find } from '../../targets/postgres/find.ts'

/** Records that are pending for too long, by table. */
interface PendingRecords {
  /** The table, as you would write it in SQL. */
  table: string
  /** The column that tells rows apart. Default: `id`. */
  key?: string
  /** Which rows are still to be worked on. */
  where: Sql
  /** Only those that are so for longer than this, by the database's clock. */
  olderThan: Duration
  /** The column that says since when. */
  by: string
}

/** How a reconciler is declared; see {@link defineReconciler}. */
export interface ReconcilerSpec<Input> {
  /** Unique among the reconcilers of an application. */
  name: string
  /** The records: by table, or a select of yours. */
  find: PendingRecords | Sql
  /** The column of a select of yours that tells its rows apart, served by an index. Default: `id`. */
  key?: string
  /** The job for a record. It must be unique, so that a record that waits in the queue is not enqueued again. */
  job: JobDefinition<Input>
  /** The args of the job for a record. */
  args(row: Record<string, unknown>): Input
  /** How often to look. Default: every minute. */
  every?: Duration
  /** Over which time to spread the starts of what was found. Default: a quarter of `every`, 30 s at most. */
  jitter?: Duration
  /** How many new jobs a run enqueues at most. Default: as many as there are records. */
  limit?: number
}

/** A job for a record. */
export interface Routed {
  job: JobDefinition
  args: unknown
  /**
   * Only for rows of machines: since when the row is in its state; null: nobody knows. If a job like this one has ended
   * with MACHINE_STATE since then, its effect is done but its row cannot be moved, and a person must start it again.
   */
  inStateSince?: string | null
}

/** A defined reconciler. */
export interface ReconcilerDefinition {
  readonly name: string
  readonly find: Find
  readonly everyMs: number
  readonly jitterMs: number
  readonly limit: number
  /** The job for a record. */
  route(row: Record<string, unknown>): Routed
}

/** The reconcilers that a process knows. */
export type ReconcilerRegistry = Registry<ReconcilerDefinition>

/**
 * Defines a reconciler: it looks again and again for records that are pending for too long, and enqueues the job for
 * each. Whatever became of the first job, or of the whole queue, the record is worked on in the end.
 *
 * @example
 * ```ts
 * import { defineJob, defineReconciler, sql } from 'sluice'
 * import { z } from 'zod'
 *
 * const createDatabase = defineJob({
 *   name: 'create-database',
 *   args: z.object({ databaseId: z.number().int() }),
 *   unique: { for: '10m' },
 *   async perform({ args }) {
 *     console.log('creating', args.databaseId)
 *   },
 * })
 *
 * export const pendingDatabases = defineReconciler({
 *   name: 'pending-databases',
 *   find: { table: 'databases', where: sql`state = 'pending'`, olderThan: '2m', by: 'updated_at' },
 *   job: createDatabase,
 *   args: (row) => ({ databaseId: Number(row['id']) }),
 * })
 * ```
 */
export function defineReconciler<Input>(spec: ReconcilerSpec<Input>): ReconcilerDefinition {
  const { name, job } = spec
  check(spec as ReconcilerSpec<unknown>)
  return reconcilerOf(spec, {
    name,
    find: findOf(spec),
    route: (row) => ({ job, args: spec.args(row) }),
  })
}

/** A reconciler with the usual timing. */
export function reconcilerOf(
  { every = '1m', jitter, limit = Infinity }: Pick<ReconcilerSpec<never>, 'every' | 'jitter' | 'limit'>,
  rest: Pick<ReconcilerDefinition, 'name' | 'find' | 'route'>,
): ReconcilerDefinition {
  const everyMs = parseDuration(every) ?? 60_000
  return { everyMs, jitterMs: parseDuration(jitter) ?? Math.min(everyMs / 4, 30_000), limit, ...rest }
}

function findOf({ find, key = 'id' }: Pick<ReconcilerSpec<never>, 'find' | 'key'>): Find {
  if (find instanceof Sql) return { query: find, key }
  return aged({ ...find, key: find.key ?? key, olderThanMs: parseDuration(find.olderThan) ?? 0 })
}

const options = ['name', 'find', 'key', 'job', 'args', 'every', 'jitter', 'limit']
const findOptions = ['table', 'key', 'where', 'olderThan', 'by']

function check(spec: ReconcilerSpec<unknown>): void {
  const problem = problemOf(spec) ?? (spec.find instanceof Sql ? undefined : findProblem(spec.find))
  if (problem === undefined) return
  throw new SluiceError('DEFINITION_INVALID', {
    message: `The reconciler ${quoted(spec.name)} cannot be defined: ${problem.replace(/\.$/, '')}.`.replace('?.', '?'),
    details: { name: spec.name, problem },
  })
}

function problemOf(spec: ReconcilerSpec<unknown>): string | undefined {
  if (typeof spec.name !== 'string' || !/^[A-Za-z][A-Za-z0-9._-]{0,99}$/.test(spec.name)) {
    return 'its name must start with a letter and have up to 100 letters, digits, ".", "_" or "-"'
  }
  const unknown = Object.keys(spec).find((key) => !options.includes(key))
  if (unknown !== undefined) return `there is no option "${unknown}".${didYouMean(unknown, options)}`
  if (typeof spec.job !== 'object' || typeof spec.job?.bind !== 'function') return '"job" must be a defined job'
  if (spec.job.unique === undefined) {
    return `its job "${spec.job.name}" must be unique, or each run would enqueue a record again that waits in the queue: add "unique: {}" to the job`
  }
  if (typeof spec.args !== 'function') return '"args" must be a function of a record'
  const everyMs = spec.every === undefined ? 60_000 : parseDuration(spec.every)
  if (everyMs === undefined || everyMs < 100) return '"every" must be a time such as "1m", 100 ms at least'
  if (spec.jitter !== undefined && parseDuration(spec.jitter) === undefined)
    return '"jitter" must be a time such as "30s"'
  if (spec.limit !== undefined && !(Number.isSafeInteger(spec.limit) && spec.limit > 0)) {
    return '"limit" must be a whole number above 0'
  }
  return spec.key === undefined || isName(spec.key) ? undefined : '"key" must be the name of a column'
}

function findProblem(find: PendingRecords): string | undefined {
  if (typeof find !== 'object' || find === null) return '"find" must be a select, or { table, where, olderThan, by }'
  const unknown = Object.keys(find).find((key) => !findOptions.includes(key))
  if (unknown !== undefined) return `there is no option "find.${unknown}".${didYouMean(unknown, findOptions)}`
  if (!isName(find.table)) return '"find.table" must be the name of a table'
  if (!(find.where instanceof Sql)) return '"find.where" must be a condition made by sql`…`'
  if (parseDuration(find.olderThan) === undefined) return '"find.olderThan" must be a time such as "2m"'
  if (!isName(find.by)) return '"find.by" must name the column that says since when'
  return find.key === undefined || isName(find.key) ? undefined : '"find.key" must be the name of a column'
}

function isName(value: unknown): boolean {
  return typeof value === 'string' && value.trim() !== '' && !value.includes('\0')
}
