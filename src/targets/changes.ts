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

/** What an operation does to its rows, as far as that is known without running it. */
export interface Changes {
  kind: 'delete' | 'update' | 'unknown'
  /** The columns that an update sets. */
  columns?: readonly string[]
  /** In how many transactions the rows of a window are done; see the backfill. */
  stride?: number | 'auto'
  /** The age by which rows are deleted. */
  aged?: AgeLimit
  /** The age by which rows are chosen, whatever is done to them. */
  timed?: AgeLimit
}

export const unknownChanges: Changes = { kind: 'unknown' }
