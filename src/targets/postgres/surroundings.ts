import type { Connection } from '../../store/connection.ts'

/** What one must know of a table to read its plans. */
export interface Ground {
  /** The table itself, or its partitions, as plans name them. */
  relations: { schema: string; name: string }[]
  /** Statistics have been gathered at some time. */
  analyzed: boolean
  mayDelete: boolean
  mayUpdate: boolean
}

/** What lies around a table and makes a change of its rows dearer or more dangerous than it looks. */
export interface Surroundings {
  fillfactor: number
  unlogged: boolean
  /** The whole old row goes into the log with each change. */
  identityFull: boolean
  /** The role of this connection sees only some of the rows. */
  rowSecurity: boolean
  /** The time zone of the session, in which times without one are taken, and the columns that hold such times. */
  zone: string
  zoneless: string[]
  /** The column by whose ranges the table is partitioned, where it is one. */
  partitionColumn: string | null
  references: Reference[]
  triggers: RowTrigger[]
  rules: Rule[]
  indexes: IndexFacts[]
}

/** A foreign key of another table that points here. */
export interface Reference {
  name: string
  child: string
  columns: string[]
  onDelete: 'nothing' | 'cascade' | 'set null' | 'set default'
  /** An index of the child begins with one of the columns. */
  indexed: boolean
  childRows: number
}

/** A trigger that runs once for each row. */
export interface RowTrigger {
  name: string
  onDelete: boolean
  onUpdate: boolean
  /** Only updates of these columns; empty: of any. */
  columns: string[]
  /** It may leave a row as it is, and the statement that was to change it is not told. */
  cancels: boolean
}

/** A rule that does something else than the statement says. */
interface Rule {
  name: string
  onDelete: boolean
  onUpdate: boolean
}

interface IndexFacts {
  name: string
  valid: boolean
  /** All columns that it depends on, also by an expression or a predicate. */
  columns: string[]
  /** An update of its columns does not keep the new row from staying on the page. */
  summarizing: boolean
}

const groundSql = `
  select jsonb_agg(jsonb_build_object('schema', l.relnamespace::regnamespace::name, 'name', l.relname)) as relations,
    coalesce(bool_and(l.reltuples >= 0) filter (where l.relkind <> 'p'), true) as analyzed,
    has_table_privilege(to_regclass($1), 'delete') as "mayDelete",
    has_table_privilege(to_regclass($1), 'update') as "mayUpdate"
  from (select to_regclass($1)::oid as oid
        union select p.relid from pg_partition_tree(to_regclass($1)) p where p.isleaf) t
  join pg_class l on l.oid = t.oid`

/**
 * A trigger that runs before a row changes cancels the change by returning NULL. One in PL/pgSQL that returns nothing but
 * its row cannot; of others it is not known.
 */
const cancels = `t.tgtype & 3 = 3 and not exists (
          select from pg_proc p join pg_language l on l.oid = p.prolang
          where p.oid = t.tgfoid and l.lanname = 'plpgsql' and p.prosrc !~* '\\mreturn\\M\\s+(?!new\\M|old\\M)')`
const firing = `not t.tgisinternal and t.tgenabled in ('O', 'A') and t.tgtype & 1 = 1 and t.tgtype & 24 <> 0`
const instead = `r.is_instead and r.ev_type in ('2', '4') and r.ev_enabled in ('O', 'A')`

const surroundingsSql = `
  select
    coalesce((select option_value::int from pg_options_to_table(c.reloptions) where option_name = 'fillfactor'), 100)
      as fillfactor,
    c.relpersistence = 'u' as unlogged,
    c.relreplident = 'f' as "identityFull",
    row_security_active(c.oid) as "rowSecurity", current_setting('TimeZone') as zone,
    coalesce((select jsonb_agg(a.attname) from pg_attribute a join pg_type d on d.oid = a.atttypid
              where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
                and coalesce(nullif(d.typbasetype, 0), d.oid) in ('timestamp'::regtype, 'date'::regtype)), '[]') as zoneless,
    (select a.attname::text from pg_partitioned_table p
     join pg_attribute a on a.attrelid = c.oid and a.attnum = p.partattrs[0]
     where p.partrelid = c.oid and p.partstrat = 'r' and p.partnatts = 1) as "partitionColumn",
    coalesce((
      select jsonb_agg(jsonb_build_object(
        'name', k.conname, 'child', k.conrelid::regclass::text,
        'columns', (select jsonb_agg(a.attname order by n.at) from unnest(k.conkey) with ordinality n(attnum, at)
                    join pg_attribute a on a.attrelid = k.conrelid and a.attnum = n.attnum),
        'onDelete', case k.confdeltype when 'c' then 'cascade' when 'n' then 'set null' when 'd' then 'set default'
                    else 'nothing' end,
        'indexed', exists (select from pg_index i join pg_class x on x.oid = i.indexrelid join pg_am m on m.oid = x.relam
                           where i.indrelid = k.conrelid and i.indisvalid and m.amname in ('btree', 'hash')
                             and i.indkey[0] = any(k.conkey)
                             and (i.indpred is null or pg_get_expr(i.indpred, i.indrelid) ~* '^\\([^()]* is not null\\)$')),
        'childRows', (select coalesce(sum(greatest(l.reltuples, 0)), 0)
                      from (select k.conrelid as oid
                            union select p.relid from pg_partition_tree(k.conrelid) p where p.isleaf) t
                      join pg_class l on l.oid = t.oid)
      ) order by k.conname)
      from pg_constraint k where k.contype = 'f' and k.confrelid = c.oid and k.conparentid = 0), '[]') as references,
    coalesce((
      select jsonb_agg(jsonb_build_object(
        'name', t.tgname, 'onDelete', t.tgtype & 8 <> 0, 'onUpdate', t.tgtype & 16 <> 0,
        'columns', coalesce((select jsonb_agg(a.attname) from unnest(t.tgattr) n(attnum)
                             join pg_attribute a on a.attrelid = c.oid and a.attnum = n.attnum), '[]'),
        'cancels', ${cancels}
      ) order by t.tgname)
      from pg_trigger t
      where t.tgrelid = c.oid and ${firing}), '[]') as triggers,
    coalesce((
      select jsonb_agg(jsonb_build_object('name', r.rulename, 'onDelete', r.ev_type = '4', 'onUpdate', r.ev_type = '2')
        order by r.rulename)
      from pg_rewrite r
      where r.ev_class = c.oid and ${instead}), '[]') as rules,
    coalesce((
      select jsonb_agg(jsonb_build_object(
        'name', x.relname, 'valid', i.indisvalid,
        'summarizing', m.amname = 'brin' and current_setting('server_version_num')::int >= 160000,
        'columns', coalesce((
          select jsonb_agg(a.attname) from pg_attribute a
          where a.attrelid = c.oid and a.attnum > 0 and (a.attnum = any(i.indkey::int2[]) or exists (
            select from pg_depend d
            where d.classid = 'pg_class'::regclass and d.objid = i.indexrelid
              and d.refclassid = 'pg_class'::regclass and d.refobjid = c.oid and d.refobjsubid = a.attnum))), '[]')
      ) order by x.relname)
      from pg_index i join pg_class x on x.oid = i.indexrelid join pg_am m on m.oid = x.relam
      where i.indrelid = c.oid), '[]') as indexes
  from pg_class c
  where c.oid = to_regclass($1)`

/** Looks at a table as its plans see it. The name is qualified and quoted. */
export async function readGround(connection: Connection, table: string): Promise<Ground> {
  const { rows } = await connection.query(groundSql, [table])
  const [found] = rows as unknown as Ground[]
  if (found?.relations === undefined || found.relations === null) throw new Error(`${table} is gone`)
  return found
}

/** Looks around a table: catalogue only, so it waits for nobody. The name is qualified and quoted. */
export async function readSurroundings(connection: Connection, table: string): Promise<Surroundings> {
  const { rows } = await connection.query(surroundingsSql, [table])
  const [found] = rows as unknown as Surroundings[]
  if (found === undefined) throw new Error(`${table} is gone`)
  return found
}

/** Whether a trigger or a rule of a table may leave rows as they are that a statement was to change. */
export async function mayKeepRows(connection: Connection, table: string): Promise<boolean> {
  const { rows } = await connection.query(
    `with walked as (
       select to_regclass($1)::oid as oid union select p.relid from pg_partition_tree(to_regclass($1)) p
     )
     select exists (select from pg_trigger t join walked w on w.oid = t.tgrelid where ${firing} and ${cancels})
       or exists (select from pg_rewrite r join walked w on w.oid = r.ev_class where ${instead}) as may`,
    [table],
  )
  return (rows[0] as { may: boolean }).may
}

/** A partition all of whose rows are old enough. */
export interface AgedPartition {
  name: string
  rows: number
}

/** The partitions whose range ends before a moment: `olderThan` before `startedAt`, in a zone where one is given. */
export async function agedPartitions(
  connection: Connection,
  table: string,
  { startedAt, olderThan, zone }: { startedAt: string; olderThan: string; zone?: string },
): Promise<AgedPartition[]> {
  const { rows } = await connection.query(
    `select l.oid::regclass::text as name, greatest(l.reltuples, 0)::float8 as rows
     from pg_inherits i
     join pg_class l on l.oid = i.inhrelid
     cross join lateral (select substring(pg_get_expr(l.relpartbound, l.oid) from 'TO \\(''([^'']*)''\\)') as ends) bound
     where i.inhparent = to_regclass($1)
       and case when $4::text is null then bound.ends::timestamptz <= $2::timestamptz - $3::interval
         else bound.ends::timestamp <= ($2::timestamptz at time zone $4) - $3::interval end
     order by bound.ends::timestamptz`,
    [table, startedAt, olderThan, zone],
  )
  return rows as unknown as AgedPartition[]
}

/** Rows of a table as of its last vacuum or analyze. */
export async function estimatedRows(connection: Connection, schema: string, name: string): Promise<number> {
  const { rows } = await connection.query(
    `select greatest(reltuples, 0)::float8 as rows
     from pg_class
     where relname = $2 and relnamespace = (select oid from pg_namespace where nspname = $1)`,
    [schema, name],
  )
  return (rows[0] as { rows: number } | undefined)?.rows ?? 0
}
