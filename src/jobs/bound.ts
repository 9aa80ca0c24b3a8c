/**
 * A job with its args, and the layers that make it safe to repeat, before its handler runs: the lock of the row that it works on, and the
 * look whether there is still something to do. The third layer, uniqueness, is in the queue.
 *
 * Decision: a job that finds nothing to do has succeeded. An event reports it, not a row: recording it in history would
 * cost every job a column.
 */
import { parseDuration } from '../std/duration.ts'
import { didYouMean } from '../std/suggest.ts'
import type { Connection } from '../store/connection.ts'
import { lockRow } from '../targets/postgres/row.ts'
import type {
  AnySpec,
  BoundJob,
  EffectContext,
  GuardContext,
  HandlerContext,
  RowLock,
  TransactionalContext,
  TransactionalSpec,
} from './definition.ts'
import { leave } from './policy.ts'

/** A declared job with its args. */
export class Bound implements BoundJob {
  readonly #spec: AnySpec
  readonly #args: unknown

  constructor(spec: AnySpec, args: unknown) {
    this.#spec = spec
    this.#args = args
  }

  uniqueKey(): string | undefined {
    return this.#spec.unique?.key?.(this.#args)
  }

  limitKey(): string | undefined {
    return this.#spec.concurrency?.key(this.#args)
  }

  perform(context: HandlerContext): unknown {
    context.args = this.#args
    const spec = this.#spec
    const perform = (): unknown => spec.perform(context as TransactionalContext<unknown>)
    return spec.guard === undefined && !('lock' in spec) ? perform() : enter(spec, context, perform)
  }

  get hasEffect(): boolean {
    return 'effect' in this.#spec && this.#spec.effect !== undefined
  }

  effect(context: HandlerContext): unknown {
    context.args = this.#args
    const spec = this.#spec as TransactionalSpec<unknown>
    const perform = (): unknown => spec.effect?.(context as EffectContext<unknown>)
    return spec.guard === undefined ? perform() : enter(spec, context, perform)
  }
}

interface Layered {
  guard?(context: GuardContext<unknown>): boolean | Promise<boolean>
  lock?: RowLock<unknown>
}

/** Takes the lock, asks the guard, and lets the handler in, or leaves. */
async function enter(spec: Layered, context: HandlerContext, perform: () => unknown): Promise<unknown> {
  const { args, tx } = context
  const { lock } = spec
  const db = (tx ?? context.db) as Connection
  let row: Record<string, unknown> | undefined
  if (lock !== undefined && tx !== undefined) {
    const { table, by = 'id', wait } = lock
    row = await lockRow(tx, { table, column: by, key: lock.key(args) }, parseDuration(wait))
    if (row === undefined) return leave('its row is not there')
  }
  return spec.guard === undefined || (await spec.guard({ args, db, row })) ? perform() : leave()
}

const lockOptions = ['table', 'key', 'by', 'wait']

/** What is wrong with the layers of a definition; undefined: nothing. */
export function layersProblem(spec: Layered & { transaction?: boolean }): string | undefined {
  const { lock, transaction } = spec
  if (spec.guard !== undefined && typeof spec.guard !== 'function')
    return '"guard" must be a function that gives true or false'
  if (lock === undefined) return undefined
  if (typeof lock !== 'object' || lock === null) return '"lock" must be an object such as { table, key }'
  if (transaction !== true) {
    return '"lock" needs "transaction: true", because the lock lasts as long as the transaction'
  }
  const unknown = Object.keys(lock).find((key) => !lockOptions.includes(key))
  if (unknown !== undefined) return `there is no option "lock.${unknown}".${didYouMean(unknown, lockOptions)}`
  if (typeof lock.table !== 'string' || lock.table.trim() === '') return '"lock.table" must be the name of a table'
  if (typeof lock.key !== 'function') return '"lock.key" must be a function of the args'
  if (lock.by !== undefined && (typeof lock.by !== 'string' || lock.by === '')) {
    return '"lock.by" must be the name of a column'
  }
  const waitMs = lock.wait === undefined ? 1 : parseDuration(lock.wait)
  return waitMs === undefined || waitMs < 1 ? '"lock.wait" must be a time such as "2s"' : undefined
}
