import type { Database } from '../store/database.ts'
import type { Key, OperationRow } from '../store/operations.ts'
import { keyAt } from '../targets/window.ts'
import type { OperationRegistry } from './define.ts'
import { sameKey } from './sub-batch.ts'
import { carvingWalk } from './walk.ts'

/** Where a batch ends, and how many rows it was to have. */
export interface Cut {
  upper: Key
  size: number
}

interface Ahead {
  lower: Key
  end: Key
  cut: Promise<Cut | undefined>
}

interface Deps {
  database: Database
  registry: OperationRegistry
  carveMs: number
}

/**
 * Where the next batches of operations end, looked for while the ones before them run. A cut is no more than a key
 * that lies well: carving is guarded, and a cut that begins elsewhere than the next batch does is thrown away.
 */
export class Cuts {
  readonly #deps: Deps
  /** The last key that this process has carved to, by operation. */
  readonly #carvedTo = new Map<string, Key>()
  readonly #ahead = new Map<string, Ahead>()

  constructor(deps: Deps) {
    this.#deps = deps
  }

  /** A batch has been carved up to here. */
  carved({ id }: OperationRow, upper: Key): void {
    this.#carvedTo.set(id, upper)
  }

  /** Looks for the cut behind the last one, unless that is done already. */
  prepare(operation: OperationRow, size: number): void {
    const lower = this.#carvedTo.get(operation.id)
    const { carve_end: end, until } = operation
    if (lower === undefined || end === null || until === 'empty' || sameKey(lower, end)) return
    if (sameKey(this.#ahead.get(operation.id)?.lower ?? null, lower)) return
    // What cannot be found now is looked for again in its turn, and then errors count.
    const cut = this.#find(operation, { lower, end, size }).catch(() => undefined)
    this.#ahead.set(operation.id, { lower, end, cut })
  }

  /** The cut that begins where the operation is carved to, if it has about that size. A smaller one is better than none. */
  async take(operation: OperationRow, size: number): Promise<Cut | undefined> {
    const ahead = this.#ahead.get(operation.id)
    if (ahead === undefined) return undefined
    if (!sameKey(ahead.lower, operation.carved_to) || !sameKey(ahead.end, operation.carve_end)) return undefined
    const cut = await ahead.cut
    return cut !== undefined && cut.size <= size * 2 && size <= cut.size * 4 ? cut : undefined
  }

  async #find(
    operation: OperationRow,
    { lower, end, size }: { lower: Key; end: Key; size: number },
  ): Promise<Cut | undefined> {
    const { database, registry, carveMs: statementMs } = this.#deps
    const walk = await carvingWalk(registry, operation)
    const place = { walk, window: { lower, upper: end }, count: size }
    const upper = await database.control.transaction((transaction) => keyAt(transaction, place), { statementMs })
    // Fewer rows than that are left: they are the last batch.
    return { upper: upper ?? end, size }
  }
}
