import sql, { raw, type Sql } from 'sql-template-tag'
import { quote } from '../targets/cursor.ts'

type AgeUnit = 'second' | 'minute' | 'hour' | 'day' | 'week' | 'month' | 'year'

/** An age as PostgreSQL's calendar counts it, such as `'90 days'` or `'6 months'`. */
export type Age = `${number} ${AgeUnit | `${AgeUnit}s`}`

/** Which rows are old enough. */
export interface AgeLimit {
  /** Rows older than this are meant. The limit is fixed at the start of each run, by the database's clock. */
  olderThan: Age
  /** The column that holds the age of a row: a timestamp or a date. */
  by: string
  /**
   * The time zone in which that column was written, such as `'UTC'`, where it is a `timestamp` without time zone or a
   * `date`. Without it such values are taken as times in the zone of the database session.
   */
  zone?: string
}

/** The condition that a row is older than the limit. */
export function isAged({ olderThan, by, zone }: AgeLimit, startedAt: string): Sql {
  if (zone !== undefined) {
    return sql`${raw(quote(by))} < (${startedAt}::timestamptz at time zone ${zone}) - ${olderThan}::interval`
  }
  return sql`${raw(quote(by))} < ${startedAt}::timestamptz - ${olderThan}::interval`
}
