import type { Sql } from 'sql-template-tag'
import { defineChange } from './define.ts'
import type { OperationDefinition } from './definition.ts'
import { checkAge, type PresetSpec } from './preset.ts'
import { isAged } from './age.ts'
import type { AgeLimit } from '../targets/changes.ts'

/** How an expiry is declared; see {@link expire}. */
export interface ExpireSpec extends PresetSpec, AgeLimit {}

/**
 * Defines the operation that most people come for: delete the rows of a table that are older than an age. Before it
 * ends, it looks for rows that it should have deleted and that are still there, unless `verify` is false.
 *
 * @example
 * ```ts
 * import { expire } from 'sluice'
 *
 * export const expireEvents = expire({ name: 'expire-events', table: 'events', olderThan: '90 days', by: 'created_at' })
 * ```
 */
export function expire({ olderThan, by, zone, ...spec }: ExpireSpec): OperationDefinition<undefined> {
  const aged: AgeLimit = { olderThan, by, ...(zone === undefined ? {} : { zone }) }
  checkAge({ kind: 'expiry', name: spec.name }, aged)
  const scope = ({ startedAt }: { startedAt: string }): Sql => isAged(aged, startedAt)
  const definition = defineChange({ ...spec, verify: spec.verify ?? true, scope }, { kind: 'delete' })
  return { ...definition, changes: { kind: 'delete', aged, timed: aged } }
}
