import sql, { raw } from 'sql-template-tag'
import { SluiceError } from '../errors.ts'
import { quote } from '../targets/cursor.ts'
import { defineOperation, type OperationDefinition, type OperationSpec } from './define.ts'

type AgeUnit = 'second' | 'minute' | 'hour' | 'day' | 'week' | 'month' | 'year'

/** An age as PostgreSQL's calendar counts it, such as `'90 days'` or `'6 months'`. */
export type Age = `${number} ${AgeUnit | `${AgeUnit}s`}`

/** How an expiry is declared; see {@link expire}. */
export interface ExpireSpec extends Pick<
  OperationSpec<undefined>,
  'name' | 'table' | 'cursor' | 'batchSize' | 'subBatchSize' | 'lanes'
> {
  /** Rows older than this go. The limit is fixed at the start of each run, by the database's clock. */
  olderThan: Age
  /** The column that holds the age of a row: a timestamp or a date. */
  by: string
}

/**
 * Defines the operation that most people come for: delete the rows of a table that are older than an age.
 *
 * @example
 * ```ts
 * import { expire } from 'sluice'
 *
 * export const expireEvents = expire({ name: 'expire-events', table: 'events', olderThan: '90 days', by: 'created_at' })
 * ```
 */
export function expire({ olderThan, by, ...spec }: ExpireSpec): OperationDefinition<undefined> {
  if (!/^\d+(\.\d+)? (second|minute|hour|day|week|month|year)s?$/.test(olderThan)) {
    throw new SluiceError('DEFINITION_INVALID', {
      message: `The expiry "${spec.name}" cannot be defined: "olderThan" must be an age such as "90 days", not "${olderThan}".`,
      details: { name: spec.name, olderThan },
    })
  }
  if (typeof by !== 'string' || by === '' || by.includes('\0')) {
    throw new SluiceError('DEFINITION_INVALID', {
      message: `The expiry "${spec.name}" cannot be defined: "by" must name the column that holds the age of a row.`,
      details: { name: spec.name, by },
    })
  }
  return defineOperation({
    ...spec,
    scope: ({ startedAt }) => sql`${raw(quote(by))} < ${startedAt}::timestamptz - ${olderThan}::interval`,
    perform: ({ batch }) => batch.delete(),
  })
}
