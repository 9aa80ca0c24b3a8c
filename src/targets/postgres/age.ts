import sql, { raw, type Sql } from 'sql-template-tag'
import type { Connection } from '../../store/connection.ts'
import { quote } from '../fragment.ts'

/** The condition that a column holds a moment before this one. */
export function isBefore(column: string, moment: string, zone?: string): Sql {
  return sql`${raw(quote(column))} < ${moment}::${raw(zone === undefined ? 'timestamptz' : 'timestamp')}`
}

/**
 * The moment that lies such an age before another, as the calendar of the database has it; with a zone, as the clocks of
 * that zone show it.
 */
export async function momentBefore(
  connection: Connection,
  from: string,
  { olderThan, zone }: { olderThan: string; zone?: string },
): Promise<string> {
  const start = zone === undefined ? sql`${from}::timestamptz` : sql`(${from}::timestamptz at time zone ${zone})`
  const query = sql`select to_json(${start} - ${olderThan}::interval) #>> '{}' as moment`
  const { rows } = await connection.query(query.text, query.values)
  return (rows[0] as { moment: string }).moment
}
