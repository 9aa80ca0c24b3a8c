import { randomUUID } from 'node:crypto'
import type { Crew, Shift } from '../../runtime/crew.ts'
import { errorRecord } from '../../std/error-record.ts'
import { ticks } from '../../std/sleep.ts'
import { register, take } from '../../store/reconcilers.ts'
import type { ReconcilerRegistry } from './define.ts'
import { runReconciler, type RunDeps } from './run.ts'

const longestTickMs = 5_000

/** Runs the reconcilers that are due, one at a time, until the shift stops. */
export class ReconcilerCrew implements Crew {
  readonly #registry: ReconcilerRegistry
  readonly #deps: RunDeps

  constructor(registry: ReconcilerRegistry, deps: RunDeps) {
    this.#registry = registry
    this.#deps = deps
  }

  async work(shift: Shift): Promise<void> {
    const { definitions } = this.#registry
    if (definitions.length === 0) return
    const shortest = Math.min(...definitions.map(({ everyMs }) => everyMs))
    for await (const _ of ticks(Math.min(shortest / 4, longestTickMs), shift.stopping)) {
      try {
        while (await this.#runNext(shift));
      } catch (error) {
        if (shift.stopping.aborted) return
        // The next tick tries again; so does any other worker.
        this.#deps.telemetry.emit('warning', { message: `Reconciling failed: ${errorRecord(error).message}` })
      }
    }
  }

  /** True when there was one. */
  async #runNext(shift: Shift): Promise<boolean> {
    const { workerId, stopping } = shift
    await shift.trusted(stopping)
    if (stopping.aborted) return false
    const { definitions, names } = this.#registry
    const { control } = this.#deps.database
    const nonce = randomUUID()
    // Again and again: the row may be lost with the queue.
    await register(control, { names })
    const [taken] = await take(control, {
      names,
      everyMs: definitions.map(({ everyMs }) => everyMs),
      nonce,
      workerId,
    })
    if (taken === undefined) return false
    await runReconciler(this.#deps, this.#registry.find(taken.name), { nonce, signal: stopping })
    return true
  }
}
