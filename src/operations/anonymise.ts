import sql, { type Sql } from 'sql-template-tag'
import { closed } from '../targets/fragment.ts'
import { checkColumns, checkWhere, setColumns } from './backfill.ts'
import type { OperationDefinition } from './definition.ts'
import { checkAge, refuse, type Preset, type PresetSpec } from './preset.ts'
import { isAged } from './age.ts'
import type { AgeLimit } from '../targets/changes.ts'

/** How an anonymisation is declared; see {@link anonymise}. At least one of an age and `where` says which rows. */
export interface AnonymiseSpec extends PresetSpec, Partial<AgeLimit> {
  /**
   * What comes in the place of each personal value: null, or an expression over the row that gives the same value when
   * it is computed again. Rows that have these values already are left alone.
   */
  columns: Record<string, Sql | null>
  /** Which rows are meant; with an age, those that are old enough as well. */
  where?: Sql
}

/**
 * Defines an operation that takes personal data out of rows and keeps the rows. It can be run again at any time; before
 * it ends, it looks for rows that still have such data, unless `verify` is false.
 *
 * @example
 * ```ts
 * import { anonymise, sql } from 'sluice'
 *
 * export const forgetCustomers = anonymise({
 *   name: 'forget-customers',
 *   table: 'customers',
 *   columns: { email: sql`'customer-' || id || '@example.invalid'`, phone: null },
 *   olderThan: '2 years',
 *   by: 'last_order_at',
 * })
 * ```
 */
export function anonymise({
  columns,
  olderThan,
  by,
  zone,
  where,
  ...spec
}: AnonymiseSpec): OperationDefinition<undefined> {
  const preset: Preset = { kind: 'anonymisation', name: spec.name }
  checkColumns(preset, { option: 'columns', columns, alsoNull: true })
  checkWhere(preset, where)
  const limit = ageLimit(preset, { olderThan, by, ...(zone === undefined ? {} : { zone }) })
  if (limit === undefined && where === undefined) {
    refuse(preset, 'say which rows: "olderThan" and "by", or "where", which is sql`true` for all')
  }
  const set = Object.fromEntries(Object.entries(columns).map(([name, value]) => [name, value ?? sql`null`]))
  const definition = setColumns(spec, { set }, ({ startedAt }) => {
    if (limit === undefined) return where
    return where === undefined ? isAged(limit, startedAt) : sql`${isAged(limit, startedAt)} and (${closed(where)})`
  })
  return limit === undefined ? definition : { ...definition, changes: { ...definition.changes, timed: limit } }
}

function ageLimit(preset: Preset, given: { olderThan: unknown; by: unknown; zone?: unknown }): AgeLimit | undefined {
  if (given.olderThan === undefined && given.by === undefined) return undefined
  checkAge(preset, given)
  return given
}
