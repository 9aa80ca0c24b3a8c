import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { Sql } from 'sql-template-tag'
import { validateArgs } from '../args.ts'
import { defineWindow } from '../runtime/window.ts'
import type { Json } from '../std/json.ts'
import type { Change } from '../targets/walk.ts'
import { closed } from '../targets/fragment.ts'
import { checkSpec } from './check-spec.ts'
import type {
  AnySpec,
  BoundOperation,
  ExternalSpec,
  OperationDefinition,
  OperationSpec,
  WithArgs,
} from './definition.ts'
import { unknownChanges } from '../targets/changes.ts'

const defaults = {
  batchSize: undefined,
  subBatchSize: undefined,
  lanes: 1,
  priority: 'normal',
  conflicts: 'table',
  until: 'end',
  recur: 'restart',
  verify: false,
  reads: 'primary',
  quarantineLimit: 1_000,
  redact: [],
  approval: false,
} as const

/**
 * Defines an operation: a change over a table, made batch by batch.
 *
 * @example
 * ```ts
 * import { defineOperation, sql } from 'sluice'
 * import { z } from 'zod'
 *
 * export const deleteDoneTodos = defineOperation({
 *   name: 'delete-done-todos',
 *   args: z.object({ userId: z.number().int(), deleteUntil: z.coerce.date() }),
 *   table: 'todos',
 *   cursor: ['id'],
 *   scope: ({ args }) => sql`state = 'done' and user_id = ${args.userId}`,
 *   perform: ({ batch, args }) => batch.delete(sql`updated_at < ${args.deleteUntil}`),
 * })
 * ```
 */
export function defineOperation<const Schema extends StandardSchemaV1>(
  spec: WithArgs<Schema, OperationSpec<StandardSchemaV1.InferOutput<Schema>>>,
): OperationDefinition<StandardSchemaV1.InferInput<Schema>>
export function defineOperation<const Schema extends StandardSchemaV1>(
  spec: WithArgs<Schema, ExternalSpec<StandardSchemaV1.InferOutput<Schema>>>,
): OperationDefinition<StandardSchemaV1.InferInput<Schema>>
export function defineOperation(spec: OperationSpec<undefined>): OperationDefinition<undefined>
export function defineOperation(spec: ExternalSpec<undefined>): OperationDefinition<undefined>
export function defineOperation(spec: AnySpec): OperationDefinition<undefined> {
  checkSpec(spec, Object.keys(defaults))
  const given = Object.entries(spec).filter(([key, value]) => key in defaults && value !== undefined)
  const { name, table, cursor } = spec
  const window = spec.window === undefined ? undefined : defineWindow(spec.window)
  const { vacuum } = spec
  const fixed = { name, table, cursor, window, vacuum, changes: unknownChanges, schema: spec.args }
  const own = { ...fixed, bind: (stored: Json) => bind(spec, stored) }
  return { ...defaults, ...Object.fromEntries(given), ...own }
}

/** Defines an operation whose work is one statement on the rows in scope. */
export function defineChange(
  spec: Omit<OperationSpec<undefined>, 'perform' | 'effects'>,
  change: Change,
): OperationDefinition<undefined> {
  const definition = defineOperation({
    ...spec,
    perform: ({ batch }) => (change.kind === 'delete' ? batch.delete() : batch.update(change.set)),
  })
  return { ...definition, bind: async (stored) => ({ ...(await definition.bind(stored)), change }) }
}

async function bind(spec: AnySpec, stored: Json): Promise<BoundOperation> {
  const args = await validateArgs(spec.name, spec.args, stored)
  const scope = (startedAt: string): Sql | undefined => {
    const given = spec.scope?.({ args, startedAt })
    return given === undefined ? undefined : closed(given)
  }
  if (spec.effects === 'external') {
    return {
      effects: 'external',
      scope,
      perform: misplaced,
      performExternal: async (c) => spec.perform({ ...c, args }),
    }
  }
  return { effects: 'database', scope, perform: async (c) => spec.perform({ ...c, args }), performExternal: misplaced }
}

function misplaced(): never {
  throw new TypeError('an operation has either database or external effects')
}
