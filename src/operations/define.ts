import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { Sql } from 'sql-template-tag'
import { SluiceError } from '../errors.ts'
import type { Json } from '../std/json.ts'
import { didYouMean } from '../std/suggest.ts'
import { validateArgs } from './args.ts'
import type { Batch } from './batch.ts'

/** What a scope may depend on: the args, and the moment at which the operation was started. */
export interface ScopeContext<Args> {
  args: Args
  /** Start of the operation by the database's clock, with microseconds; the same for every batch of the operation. */
  startedAt: string
}

/** What the work on one sub-batch receives. */
export interface PerformContext<Args> extends ScopeContext<Args> {
  batch: Batch
}

/** How an operation is declared; see {@link defineOperation}. */
export interface OperationSpec<Args> {
  /** Unique among the definitions of an application; stored with each operation, so keep it when you rename code. */
  name: string
  /** The table to walk, as you would write it in SQL. */
  table: string
  /** Columns to walk by: NOT NULL, unique together, served by an index. Default: the primary key. */
  cursor?: readonly [string, ...string[]]
  /** Which rows belong to the operation. Default: all. */
  scope?(context: ScopeContext<Args>): Sql
  /**
   * The work on one sub-batch, inside its transaction. Returns how many rows it changed; without a number, what
   * `batch.delete` and `batch.update` changed is counted.
   */
  perform(context: PerformContext<Args>): Promise<number | void>
  /** Rows per batch, the unit that one worker leases. Default: 50,000. */
  batchSize?: number
  /** Rows per sub-batch, which is one transaction. Default: 1,000. */
  subBatchSize?: number
  /** How many batches of one operation may run at once. Default: 1. */
  lanes?: number
}

/** {@link OperationSpec} with a schema for its args; any Standard Schema library will do (zod, valibot, arktype …). */
export interface OperationSpecWithArgs<Schema extends StandardSchemaV1> extends OperationSpec<
  StandardSchemaV1.InferOutput<Schema>
> {
  args: Schema
}

/** Args checked, functions closed over them: all that running a batch needs to know of a definition. */
export interface BoundOperation {
  scope(startedAt: string): Sql | undefined
  perform(batch: Batch, startedAt: string): Promise<number | void>
}

/** A defined operation. `Input` is what starting it takes as args. */
export interface OperationDefinition<in Input = never> {
  readonly name: string
  readonly table: string
  readonly cursor: readonly [string, ...string[]] | undefined
  readonly batchSize: number
  readonly subBatchSize: number
  readonly lanes: number
  /** Checks stored args against the schema and gives the functions to run with them. */
  bind(stored: Json): Promise<BoundOperation>
  /** Exists for the type checker only: ties the definition to the args that starting it takes. */
  readonly takes?: (args: Input) => void
}

const defaults = { batchSize: 50_000, subBatchSize: 1_000, lanes: 1 } as const

const options = ['name', 'table', 'cursor', 'scope', 'perform', 'batchSize', 'subBatchSize', 'lanes', 'args'] as const

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
  spec: OperationSpecWithArgs<Schema>,
): OperationDefinition<StandardSchemaV1.InferInput<Schema>>
export function defineOperation(spec: OperationSpec<undefined>): OperationDefinition<undefined>
export function defineOperation(
  spec: OperationSpec<unknown> & { args?: StandardSchemaV1 },
): OperationDefinition<undefined> {
  checkSpec(spec)
  return {
    name: spec.name,
    table: spec.table,
    cursor: spec.cursor,
    batchSize: spec.batchSize ?? defaults.batchSize,
    subBatchSize: spec.subBatchSize ?? defaults.subBatchSize,
    lanes: spec.lanes ?? defaults.lanes,
    async bind(stored) {
      const args = await validateArgs(spec.name, spec.args, stored)
      return {
        scope: (startedAt) => spec.scope?.({ args, startedAt }),
        perform: async (batch, startedAt) => spec.perform({ args, startedAt, batch }),
      }
    },
  }
}

function checkSpec(spec: OperationSpec<unknown>): void {
  const name = typeof spec.name === 'string' ? spec.name : ''
  const refuse = (problem: string): never => {
    throw new SluiceError('DEFINITION_INVALID', {
      message: `The operation "${name}" cannot be defined: ${problem}.`,
      details: { name, problem },
    })
  }
  if (!/^[a-z][a-z0-9._-]{0,99}$/i.test(name)) {
    refuse('its name must start with a letter and have up to 100 letters, digits, ".", "_" or "-"')
  }
  for (const key of Object.keys(spec)) {
    if (!(options as readonly string[]).includes(key)) refuse(`there is no option "${key}".${didYouMean(key, options)}`)
  }
  if (!isText(spec.table)) refuse('"table" must be the name of a table')
  if (spec.cursor !== undefined && !isCursor(spec.cursor))
    refuse('"cursor" must list one or more different column names')
  if (typeof spec.perform !== 'function') refuse('"perform" must be a function')
  if (spec.scope !== undefined && typeof spec.scope !== 'function') refuse('"scope" must be a function')
  for (const key of ['batchSize', 'subBatchSize', 'lanes'] as const) {
    const value = spec[key]
    if (value !== undefined && !(Number.isSafeInteger(value) && value > 0 && value <= 10_000_000)) {
      refuse(`"${key}" must be a whole number from 1 to 10,000,000`)
    }
  }
}

function isText(value: unknown): boolean {
  return typeof value === 'string' && value.trim() !== '' && !value.includes('\0')
}

function isCursor(value: readonly string[]): boolean {
  return Array.isArray(value) && value.length > 0 && value.every(isText) && new Set(value).size === value.length
}
