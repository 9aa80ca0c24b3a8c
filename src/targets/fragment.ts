import sql, { type Sql } from 'sql-template-tag'

/** A piece of SQL that a user gave, as a part of ours. Without the line break a comment at its end would go on. */
export const closed = (given: Sql): Sql => sql`${given}\n`

/** A column name, quoted for SQL. */
export function quote(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}
