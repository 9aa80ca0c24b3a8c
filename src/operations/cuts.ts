import { Recent } from '../std/recent.ts'
import type { Key, OperationRow } from '../store/operations.ts'
import { isBelow, keyAfter, type Bounds } from '../targets/bounds.ts'
import type { Target } from '../targets/target.ts'
import type { OperationRegistry } from './definition.ts'
import { FarEnds } from './far-end.ts'
import { sameKey } from '../targets/walk.ts'
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
  target: Pick<Target, 'windows'>
  registry: OperationRegistry
  carveMs: number
}

/**
 * Where the next batches of operations end, searched while the batches before them run. Walking an index to the end of
 * a batch takes about a tenth of the time of deleting its rows, so it is done ahead, as for sub-batches. A cut is only
 * a hint: the guarded carve statement checks it again, and a cut that does not begin where the next batch begins is
 * dropped.
 */
export class Cuts {
  /** Where batches need not go one by one. */
  readonly farEnds: FarEnds
  readonly #deps: Deps
  /** The last key that this process has carved to, by operation. */
  readonly #carvedTo = new Recent<Key>()
  readonly #ahead = new Recent<Ahead>()
  /** How the rows of operations lie; undefined: that is not known, or was wrong. */
  readonly #bounds = new Recent<Promise<Bounds | undefined>>()

  constructor(deps: Deps) {
    this.#deps = deps
    this.farEnds = new FarEnds(deps.target)
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
    return cut !== undefined && cut.size <= size * 2 && size <= cut.size * 4 ? this.#short(operation, cut) : undefined
  }

  /**
   * The cut of about that size by statistics alone, where keys are whole numbers and sizes are left to us: rows are
   * counted when they are done, so that a batch need not be. Undefined: it has to be looked for.
   */
  async estimate(operation: OperationRow, size: number): Promise<Cut | undefined> {
    const { id, carved_to: lower, carve_end: end, until, tunes_batches: tuned } = operation
    if (end === null || until === 'empty' || !tuned) return undefined
    const known = this.#bounds.get(id) ?? this.#read(operation)
    this.#bounds.set(id, known)
    const bounds = await known
    const key = bounds && keyAfter(bounds, lower, size)
    if (key === undefined) return undefined
    return this.#short(operation, { upper: key < BigInt(end[0] ?? 0) ? [String(key)] : end, size })
  }

  /** Ends a batch where the far end begins, and gives that one a batch of its own. */
  #short(operation: OperationRow, cut: Cut): Cut {
    const far = this.farEnds.of(operation)
    const at = operation.carved_to
    if (far === undefined) return cut
    if (sameKey(at, far.lower)) return { ...cut, upper: far.upper }
    if ((at !== null && !isBelow(at, far.lower)) || !isBelow(far.lower, cut.upper)) return cut
    this.farEnds.settle(operation)
    return { ...cut, upper: far.lower }
  }

  /** A batch had many more rows than it was to have: what is known of them is not true any more. */
  distrust({ id }: OperationRow): void {
    this.#bounds.set(id, Promise.resolve(undefined))
  }

  async #read(operation: OperationRow): Promise<Bounds | undefined> {
    const { target, registry } = this.#deps
    // One can do without: the end of a batch is then looked for.
    return target.windows.bounds(await carvingWalk(registry, operation)).catch(() => undefined)
  }

  async #find(
    operation: OperationRow,
    { lower, end, size }: { lower: Key; end: Key; size: number },
  ): Promise<Cut | undefined> {
    const { target, registry, carveMs: limitMs } = this.#deps
    const estimated = await this.estimate({ ...operation, carved_to: lower }, size)
    if (estimated !== undefined) return estimated
    const walk = await carvingWalk(registry, operation)
    const upper = await target.windows.keyAt(walk, { window: { lower, upper: end }, count: size, limitMs })
    // Fewer rows than that are left: they are the last batch.
    return { upper: upper ?? end, size }
  }
}
