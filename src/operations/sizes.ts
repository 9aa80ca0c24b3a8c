import { Recent } from '../std/recent.ts'
import { learn, shrink, sizing, targetMs, type Aim, type Sizing, type Unit } from './size.ts'

interface Circumstances {
  /** The work is in no transaction. */
  external: boolean
  most: number
  /** How busy the database is with the work of others, from 0 to 1. */
  load: number
}

/** The sizes that a process has found, by operation. */
export class Sizes {
  readonly #found = new Recent<Sizing>()
  readonly #looks = new Recent<number>()
  readonly #striding = new Recent<true>()

  /** Rows of the next sub-batch; `known`: what others have found, for who has found nothing yet. */
  rows(operationId: string, known: number): number {
    return (this.#found.get(operationId) ?? sizing(known)).rows
  }

  /** Learns from a sub-batch, and gives the rows of the next one. */
  learn(operationId: string, unit: Unit, { external, most, load }: Circumstances): number {
    const before = this.#found.get(operationId) ?? sizing(unit.rows)
    const aim = external ? { ...outside, most } : { ...inside, targetMs: targetMs(load), most }
    const found = learn(before, unit, aim)
    this.#found.set(operationId, found)
    return found.rows
  }

  /** The last stretch had no row in scope, and so many are to be looked at next; undefined: it had some. */
  looked(operationId: string, rows: number | undefined): void {
    if (rows === undefined) this.#looks.delete(operationId)
    else this.#looks.set(operationId, rows)
  }

  /** What was last said of it. */
  lastLook(operationId: string): number | undefined {
    return this.#looks.get(operationId)
  }

  /** Windows of the operation are done in strides. */
  strode(operationId: string): void {
    this.#striding.set(operationId, true)
  }

  /** Whether that was said of it. */
  strides(operationId: string): boolean {
    return this.#striding.get(operationId) === true
  }

  /** A sub-batch ran into a limit. */
  shrink(operationId: string): void {
    const before = this.#found.get(operationId)
    if (before !== undefined) this.#found.set(operationId, shrink(before))
  }
}

/** No transaction is open for longer, whatever the target; and no sub-batch writes more log. */
const inside: Omit<Aim, 'most' | 'targetMs'> = { limitMs: 250, walBytes: 32 * 1024 * 1024 }

/** Without a transaction time hurts nobody; what a crash repeats should still be little. */
const outside: Omit<Aim, 'most'> = { targetMs: 2_000, limitMs: 5_000 }
