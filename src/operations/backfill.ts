import sql, { join, raw, Sql } from 'sql-template-tag'
import { quote, closed } from '../targets/fragment.ts'
import { defineChange } from './define.ts'
import type { OperationDefinition, ScopeContext } from './definition.ts'
import { isColumn, refuse, type Preset, type PresetSpec } from './preset.ts'

/** How a backfill is declared; see {@link backfill}. */
export interface BackfillSpec extends PresetSpec {
  /**
   * The new value of each column, as an expression over the row. It must give the same value when it is computed again,
   * in the type of the column: a row is right, and left alone, when the column has that value.
   */
  set: Record<string, Sql>
  /** Which rows are meant. Default: all. */
  where?: Sql
  /**
   * In how many transactions the rows of a window are done, of each page one row in so many: on full pages each makes
   * room for the next, and no index has to change. `auto` (default): 10 where that helps, else 1.
   */
  stride?: number | 'auto'
}

/**
 * Defines an operation that sets columns. Rows that are right already are not touched, so it can be run again at any
 * time; before it ends, it looks for rows that are not right, unless `verify` is false.
 *
 * @example
 * ```ts
 * import { backfill, sql } from 'sluice'
 *
 * export const lowerEmails = backfill({
 *   name: 'lower-emails',
 *   table: 'users',
 *   set: { email_lower: sql`lower(email)` },
 *   where: sql`email is not null`,
 * })
 * ```
 */
export function backfill({ set, where, stride, ...spec }: BackfillSpec): OperationDefinition<undefined> {
  const preset: Preset = { kind: 'backfill', name: spec.name }
  checkColumns(preset, { option: 'set', columns: set })
  checkWhere(preset, where)
  checkStride(preset, stride)
  return setColumns(spec, { set, stride }, () => where)
}

/** Defines the operation that sets columns in the rows that `where` means and that are not right yet. */
export function setColumns(
  spec: PresetSpec,
  { set, stride = 'auto' }: { set: Record<string, Sql>; stride?: number | 'auto' | undefined },
  where: (context: ScopeContext<undefined>) => Sql | undefined,
): OperationDefinition<undefined> {
  const columns = Object.entries(set).map(([name, value]) => ({ name: raw(quote(name)), value: closed(value) }))
  const wrong = join(
    columns.map(({ name, value }) => sql`${name} is distinct from (${value})`),
    ' or ',
  )
  const values = join(columns.map(({ name, value }) => sql`${name} = (${value})`))
  const scope = (context: ScopeContext<undefined>): Sql => {
    const meant = where(context)
    return meant === undefined ? wrong : sql`(${closed(meant)}) and (${wrong})`
  }
  const definition = defineChange({ ...spec, verify: spec.verify ?? true, scope }, { kind: 'update', set: values })
  const meant = (startedAt: string): Sql | undefined => {
    const rows = where({ args: undefined, startedAt })
    return rows === undefined ? undefined : closed(rows)
  }
  return {
    ...definition,
    changes: { kind: 'update', columns: Object.keys(set), stride },
    bind: async (stored) => ({ ...(await definition.bind(stored)), meant }),
  }
}

/** Refuses anything but columns with expressions. */
export function checkColumns(
  preset: Preset,
  { option, columns, alsoNull = false }: { option: string; columns: unknown; alsoNull?: boolean },
): void {
  const entries = typeof columns === 'object' && columns !== null ? Object.entries(columns) : []
  if (entries.length === 0) refuse(preset, `"${option}" must name at least one column`)
  for (const [name, value] of entries) {
    if (!isColumn(name)) refuse(preset, `"${option}" has a name that no column can have`, { column: name })
    if (value instanceof Sql || (alsoNull && value === null)) continue
    refuse(
      preset,
      `the value of "${name}" must be an expression, as in sql\`lower(email)\`${alsoNull ? ', or null' : ''}`,
      {
        column: name,
      },
    )
  }
}

/** Refuses a stride that cannot be one; beyond a hundred, pages would be read for single rows. */
function checkStride(preset: Preset, stride: unknown): void {
  if (stride === undefined || stride === 'auto') return
  if (Number.isSafeInteger(stride) && Number(stride) >= 1 && Number(stride) <= 100) return
  refuse(preset, '"stride" must be "auto" or a whole number from 1 to 100')
}

/** Refuses a condition that is none. */
export function checkWhere(preset: Preset, where: unknown): void {
  if (where !== undefined && !(where instanceof Sql)) {
    refuse(preset, '"where" must be a condition, as in sql`email is not null`')
  }
}
