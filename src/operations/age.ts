import sql, { raw, type Sql } from 'sql-template-tag'
import type { AgeLimit } from '../targets/changes.ts'
import { quote } from '../targets/fragment.ts'

/** The condition that a row is older than the limit. */
export function isAged({ olderThan, by, zone }: AgeLimit, startedAt: string): Sql {
  if (zone !== undefined) {
    return sql`${raw(quote(by))} < (${startedAt}::timestamptz at time zone ${zone}) - ${olderThan}::interval`
  }
  return sql`${raw(quote(by))} < ${startedAt}::timestamptz - ${olderThan}::interval`
}
