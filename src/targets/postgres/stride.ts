import sql, { raw, type Sql } from 'sql-template-tag'
import type { Connection } from '../../store/connection.ts'
import type { PageRange, Stride } from '../work.ts'
import { sliceOf } from './change.ts'
import type { Slice } from '../walk.ts'
import { columnList } from './cursor.ts'
import { within } from './window.ts'

/** Whether nothing of the slice is left to the next transaction. */
export function isLast(stride: Stride | undefined): boolean {
  return stride === undefined || stride.at >= stride.of - 1
}

/**
 * The part of a slice that is in a stride. Rows are told apart by their number on the page, of which `tidsend` gives the
 * low byte last; it is many times cheaper than to read it from text. A row that moves meanwhile is met in the end.
 */
export function striding(slice: Slice, stride: Stride | undefined): Slice {
  if (stride === undefined || isLast(stride)) return slice
  const { of, at, pages } = stride
  const inStride = sql`get_byte(tidsend(ctid), 5) % ${of}::int = ${at}::int`
  const chosen = pages === undefined ? inStride : sql`${onPages(pages)} and ${inStride}`
  return { ...slice, scope: slice.scope === undefined ? chosen : sql`(${slice.scope}) and ${chosen}` }
}

function onPages({ first, last }: PageRange): Sql {
  return sql`ctid >= ${`(${first},0)`}::tid and ctid < ${`(${last + 1},0)`}::tid`
}

/**
 * The pages between the first and the last row of a window, in whichever order; undefined when they are more than
 * `most`. Rows that lie elsewhere are met in the end.
 */
export async function pagesOf(
  connection: Connection,
  { walk, window }: Pick<Slice, 'walk' | 'window'>,
  most: number,
): Promise<PageRange | undefined> {
  const at = (order: string): Sql => sql`
    select ctid from ${raw(walk.table)} where ${within(walk, window)} order by ${columnList(walk.cursor, order)} limit 1`
  const query = sql`select (${at('')})::text as first, (${at(' desc')})::text as last`
  const { rows } = await connection.query(query.text, query.values)
  const { first, last } = rows[0] as { first: string | null; last: string | null }
  const pages = [first, last].map((place) => Number.parseInt(place?.slice(1) ?? '', 10))
  const range = { first: Math.min(...pages), last: Math.max(...pages) }
  return range.last - range.first < most ? range : undefined
}

/** Runs work in a transaction, and rolls it back when its result is none to keep. */
interface Transactional {
  transaction(
    work: (transaction: Connection) => Promise<boolean>,
    limits: typeof tryLimits,
    keeps: (result: boolean) => boolean,
  ): Promise<boolean>
}

/**
 * Whether a row that was set is out of scope: tried on one of the first rows of a slice, and rolled back. A value that
 * depends on the one before it, or on chance, is never settled, and strides would set it again and again. False as well
 * when there is no row to try it on, or it cannot be done.
 */
export async function settles(connection: Transactional, slice: Slice, set: Sql): Promise<boolean> {
  const table = raw(slice.walk.table)
  const first = sql`
    select ctid from ${table} where ${sliceOf(slice)} order by ${columnList(slice.walk.cursor)} limit 1 for update`
  const change = sql`update ${table} set ${set} where ctid = (${first}) returning ctid::text as place`
  const tried = async (transaction: Connection): Promise<boolean> => {
    const { rows } = await transaction.query(change.text, change.values)
    const [row] = rows as { place: string }[]
    if (row === undefined) return false
    const again = sql`select from ${table} where ctid = ${row.place}::tid and (${slice.scope ?? sql`true`})`
    const still = await transaction.query(again.text, again.values)
    return still.rows.length === 0
  }
  // Without an answer there are no strides, which costs time and nothing else.
  return connection.transaction(tried, tryLimits, () => false).catch(() => false)
}

/** Others are not kept waiting for a try. */
const tryLimits = { statementMs: 2_000, lockMs: 200 }

/** Finds no key, where none is wanted. */
export const noKey: Sql = sql`select null::text[]`

/** What tells how the rows of a table lie on its pages. */
export interface Pages {
  /** A table with pages of its own; a partitioned one has none. */
  plain: boolean
  /** By statistics; 0: there are none. */
  rowsPerPage: number
  /** The part of a page that is in use; more than 1 where rows are taken for wider than they are. */
  filled: number
  /** How well the order of keys is that of pages: 1 or -1 is perfectly, 0 not at all. */
  correlation: number
  /** Who holds a snapshot for so long that old versions of rows cannot be cleaned up; null: nobody. */
  heldBy: string | null
}

/** Heads of pages and rows, and the least a row takes: what PostgreSQL 14 to 18 have in common. */
const [pageHead, rowHead] = [24, 28]

const pagesSql = `
  select c.relkind = 'r' as plain,
    case when c.relpages > 0 and c.reltuples > 0 then c.reltuples / c.relpages else 0 end::float8 as "rowsPerPage",
    coalesce(known.width, 0)::float8 as width, coalesce(known.correlation, 0)::float8 as correlation,
    current_setting('block_size')::int as size,
    (select h.holder from (
       select 'pid ' || a.pid || coalesce(', user ' || a.usename, '')
           || coalesce(', ' || nullif(a.application_name, ''), '') as holder,
         coalesce(a.backend_xmin, a.backend_xid) as xmin
       from pg_stat_activity a
       where a.pid <> pg_backend_pid()
         -- A snapshot counts in its own database, a transaction that has written counts in all.
         and (a.backend_xid is not null or a.backend_xmin is not null
           and (a.datid is null or a.datid = (select oid from pg_database where datname = current_database())))
         and coalesce(a.xact_start < clock_timestamp() - interval '5 seconds',
           age(coalesce(a.backend_xmin, a.backend_xid)) > $3)
         and not exists (select from pg_stat_progress_vacuum v where v.pid = a.pid)
       union all
       select 'prepared transaction ' || quote_literal(p.gid), p.transaction
       from pg_prepared_xacts p
       where p.database = current_database()
       union all
       select 'replication slot ' || r.slot_name, r.xmin
       from pg_replication_slots r
       where r.xmin is not null and age(r.xmin) > $3) h
     order by age(h.xmin) desc
     limit 1) as "heldBy"
  from pg_class c
  cross join lateral (
    select sum(s.avg_width * (1 - s.null_frac)) as width, max(s.correlation) filter (where s.attname = $2) as correlation
    from pg_stats s
    where s.tablename = c.relname and s.schemaname = c.relnamespace::regnamespace::name and not s.inherited) known
  where c.oid = to_regclass($1)`

/** Transactions after which a snapshot whose age in time is hidden counts as held. */
const manyTransactions = 10_000

/** Looks at statistics and at who holds a snapshot; reads no row. The name is qualified and quoted. */
export async function readPages(connection: Connection, table: string, column: string): Promise<Pages> {
  const { rows } = await connection.query(pagesSql, [table, column, manyTransactions])
  const [found] = rows as unknown as (Omit<Pages, 'filled'> & { width: number; size: number })[]
  if (found === undefined) throw new Error(`${table} is gone`)
  const { width, size, ...pages } = found
  // Rows begin at multiples of eight bytes.
  const rowBytes = Math.ceil((width + rowHead) / 8) * 8
  return { ...pages, filled: (pages.rowsPerPage * rowBytes) / (size - pageHead) }
}
