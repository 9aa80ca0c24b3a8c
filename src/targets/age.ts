import sql, { raw, type Sql } from 'sql-template-tag'
import type { Connection } from '../store/connection.ts'
import { quote } from './cursor.ts'

/** The condition that a column holds a moment before this one. */
export function isBefore(column: string, moment: string): Sql {
  return sql`${raw(quote(column))} < ${moment}::timestamptz`
}

/** The moment that lies such an age before another, as the calendar of the database has it. */
export async function momentBefore(connection: Connection, from: string, age: string): Promise<string> {
  const query = sql`select to_json(${from}::timestamptz - ${age}::interval) #>> '{}' as moment`
  const { rows } = await connection.query(query.text, query.values)
  return (rows[0] as { moment: string }).moment
}
