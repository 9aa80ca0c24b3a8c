import { SluiceError } from '../../errors.ts'
import type { Column, TableShape } from '../target.ts'
import type { Connection } from '../../store/connection.ts'
import { sqlstate } from '../../store/sqlstate.ts'
import { didYouMean } from '../../std/suggest.ts'

interface Found {
  oid: string
  kind: string
  qualified_name: string
  rows_estimate: number
  readable: boolean
  columns: Column[]
}

interface Index {
  columns: string[]
  is_unique: boolean
  is_primary: boolean
  one_direction: boolean
}

const describeSql = `
  select c.oid::text as oid, c.relkind as kind,
    quote_ident(n.nspname) || '.' || quote_ident(c.relname) as qualified_name,
    -- A partitioned table keeps no count of its own.
    case when c.relkind = 'p'
      then (select coalesce(sum(greatest(l.reltuples, 0)), 0)
            from pg_partition_tree(c.oid) p join pg_class l on l.oid = p.relid where p.isleaf)
      else greatest(c.reltuples, 0) end::float8 as rows_estimate,
    has_table_privilege(c.oid, 'select') as readable,
    (select jsonb_agg(jsonb_build_object('name', a.attname, 'notNull', a.attnotnull,
        'generated', a.attgenerated <> '' or a.attidentity = 'a', 'type',
        -- Without a length, but as a type that keeps any: "character" alone would cut a key to one letter.
        case when tn.nspname = 'pg_catalog' then format_type(t.oid, -1)
          else quote_ident(tn.nspname) || '.' || quote_ident(t.typname) end) order by a.attnum)
     from pg_attribute a
     join pg_type d on d.oid = a.atttypid
     -- A domain is written as the type behind it.
     join pg_type t on t.oid = coalesce(nullif(d.typbasetype, 0), d.oid)
     join pg_namespace tn on tn.oid = t.typnamespace
     where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped) as columns
  from pg_class c
  join pg_namespace n on n.oid = c.relnamespace
  where c.oid = to_regclass($1)`

const indexSql = `
  select i.indisunique and i.indimmediate as is_unique, i.indisprimary as is_primary,
    (select bool_and(o & 1 = 0) or bool_and(o & 1 = 1) from unnest(i.indoption::int[]) o) as one_direction,
    array(select a.attname::text
          from unnest((i.indkey::int[])[0:i.indnkeyatts - 1]) with ordinality k(attnum, at)
          join pg_attribute a on a.attrelid = i.indrelid and a.attnum = k.attnum
          order by k.at) as columns
  from pg_index i
  join pg_class x on x.oid = i.indexrelid
  join pg_am m on m.oid = x.relam
  where i.indrelid = $1::oid and m.amname = 'btree' and i.indisvalid and i.indpred is null and i.indexprs is null`

const namesSql = `
  select case when pg_table_is_visible(oid) then relname::text else relnamespace::regnamespace::text || '.' || relname end as name
  from pg_class
  where relkind in ('r', 'p') and relnamespace::regnamespace::text !~ '^(pg_|information_schema)'
  limit 1000`

/** Looks a table up, as it would be written in SQL, or says clearly why it cannot be walked. */
export async function describeTable(connection: Connection, table: string): Promise<TableShape> {
  const found = await lookUp(connection, table)
  if (found === undefined) throw await notFound(connection, table)
  if (found.kind !== 'r' && found.kind !== 'p') {
    throw new SluiceError('TABLE_INVALID', {
      message: `"${table}" is not a table (it may be a view or a foreign table). Name the table whose rows shall change.`,
      details: { table },
    })
  }
  if (!found.readable) {
    throw new SluiceError('PERMISSION_DENIED', {
      message: `The database role may not read "${table}". Run: grant select, update, delete on ${found.qualified_name} to the role.`,
      details: { table },
    })
  }
  const { rows } = await connection.query(indexSql, [found.oid])
  const indexes = rows as unknown as Index[]
  return {
    qualifiedName: found.qualified_name,
    columns: found.columns,
    primaryKey: indexes.find((index) => index.is_primary)?.columns ?? [],
    uniqueKeys: indexes.filter((index) => index.is_unique).map((index) => index.columns),
    indexes: indexes.filter((index) => index.one_direction).map((index) => index.columns),
    rowsEstimate: found.rows_estimate,
  }
}

/** Refuses columns that an update cannot set. */
export function checkSettable({ qualifiedName, columns }: TableShape, names: readonly string[]): void {
  const computed = columns.find(({ name, generated }) => generated === true && names.includes(name))
  if (computed === undefined) return
  throw new SluiceError('TABLE_INVALID', {
    message: `The database computes the column "${computed.name}" of ${qualifiedName}, so nobody else can set it. Set the columns that it is computed from.`,
    details: { table: qualifiedName, column: computed.name },
  })
}

/** Refuses a zone for a column whose values say by themselves when they were. */
export function checkZone(
  { qualifiedName, columns }: TableShape,
  limit: { by: string; zone?: string } | undefined,
): void {
  const type = columns.find(({ name }) => name === limit?.by)?.type
  if (limit?.zone === undefined || type !== 'timestamp with time zone') return
  throw new SluiceError('TABLE_INVALID', {
    message: `The column "${limit.by}" of ${qualifiedName} has a time zone of its own. Leave "zone" out.`,
    details: { table: qualifiedName, column: limit.by },
  })
}

/** Refuses tables of ours: an operation on them would change what decides about operations. */
export function checkForeign({ qualifiedName }: TableShape, schema: string): void {
  if (!qualifiedName.startsWith(`${schema}.`) && !qualifiedName.startsWith(`"${schema}".`)) return
  throw new SluiceError('TABLE_INVALID', {
    message: `${qualifiedName} belongs to Sluice itself. Operations are for tables of your own; how long history is kept is an option of workers.`,
    details: { table: qualifiedName },
  })
}

async function lookUp(connection: Connection, table: string): Promise<Found | undefined> {
  try {
    const { rows } = await connection.query(describeSql, [table])
    return rows[0] as unknown as Found | undefined
  } catch (error) {
    const state = sqlstate(error)
    // Before version 17 the server reports a name that is no name; later ones just do not find it.
    if (state === '42602' || state === '42601') return undefined
    if (state !== '42501' && state !== '0A000') throw error
    throw new SluiceError(state === '42501' ? 'PERMISSION_DENIED' : 'TABLE_INVALID', {
      message: `"${table}" cannot be used as a table name: ${(error as Error).message}. Write it as in SQL, quoted where SQL needs quotes.`,
      details: { table },
      cause: error,
    })
  }
}

async function notFound(connection: Connection, table: string): Promise<SluiceError> {
  const { rows } = await connection.query(namesSql, [])
  const names = (rows as { name: string }[]).map(({ name }) => name)
  const cased = names.find((name) => name !== table && name.toLowerCase() === table.toLowerCase())
  const hint =
    cased === undefined ? didYouMean(table, names) : ` Names with capitals are quoted as in SQL: '"${cased}"'.`
  return new SluiceError('TABLE_NOT_FOUND', {
    message: `There is no table "${table}" in this database.${hint}`,
    details: { table },
  })
}
