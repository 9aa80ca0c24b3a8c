/**
 * Sweeps: rows that are due are claimed, have an effect outside of the database, and are finalised.
 *
 * The model. A claim is a row of `sweep_claim` with a nonce, and where the user's row has columns for it, the same nonce
 * there. It is made in one short transaction that locks due rows in order and passes over what others have locked; no
 * lock service is needed, because the lock of the row and the unique key of the claim are the critical section. Then
 * the effect runs, outside of any transaction, with a limit of time. Then one transaction finalises the row.
 *
 * The invariants.
 * 1. A row has at most one claim: (sweep, key) is the primary key. Who claims, takes over or finalises holds the lock of
 *    the user's row first and that of the claim second, and compares the nonce.
 * 2. An effect begins only while its claim is committed, and by a process that is taken for alive. What was written to
 *    the row was read back before: a claim that does not stand there, or that makes its row not due, has no effect.
 * 3. The idempotency key and the version belong to the claim, not to the attempt. They are made by the first claim,
 *    under the lock of the row, and end with the claim; so every attempt on a row, by whichever worker, has the same.
 * 4. A row is finalised only in the transaction that ends its claim, when three things still hold under its lock: the
 *    nonce is ours, the row is due, and its version is the recorded one. Else nothing of it changes.
 * 5. A reference is released in that transaction as well, so exactly as often as its row is finalised: once. The
 *    statement leaves a count alone that would go below zero; its row is isolated instead.
 * 6. Effects on a row are bounded. A row that is marked and not deleted keeps its claim, under another nonce, until a
 *    look after the commit: could it be claimed again at once, that was a failed attempt under the same claim.
 *
 * Shared objects. Pastes refer to contents, and each content stands for one object in a store. The sweep of pastes
 * releases references; the sweep of contents takes those with none left, deletes the object and finalises the content.
 * That a live paste never loses its object follows from three facts. Who makes a new reference locks the content's row
 * and finds it either free or claimed. (a) Free: its count goes up, and a claim, which needs the same lock and asks for
 * a count of zero again under it, cannot begin any more. (b) Claimed: the application makes a new content with an object
 * of its own name; the claimed one has no references and gets none, and its object has a name that nobody uses again.
 * (c) Where the name of the object must stay, the application uploads it again while it holds the lock, and records the
 * new version with the reference. The effect deletes the version that was recorded at the claim and no other, so it
 * passes by the new object whenever it runs, also hours late in a process that was stopped; and the finaliser sees a row
 * that is not due, or of another version, and spares it.
 *
 * On a crash. Before the claim commits there is nothing. After it, before or during the effect, or before the
 * finalising commits: the worker's sign of life stops, and any other worker takes the claim over, under a new nonce and
 * with the same key and version. After the finalising has committed there is nothing left to do but to end a claim,
 * which whoever takes it over does; who does not know because the answer was lost asks again and finds no claim. A process that was paused finds its nonce replaced and
 * commits nothing; what it still sends to the store carries the same key and version as the attempt of its successor.
 *
 * When the store is down, effects fail one after the other, whatever the row. Then the sweep is held, for all processes,
 * with reason and end; the rows go back without an attempt being counted, and after the hold one row at a time is tried
 * until one succeeds. An attempt counts against a row only when the store has answered others meanwhile, or when the
 * failures were too few to tell.
 *
 * Decisions.
 * - A claimed row always has a row of ours, even where its own columns carry the claim. The idempotency key, recorded
 *   version, attempts and error need a place that lasts as long as the claim, and a user's table should need no more
 *   than a status and a nonce.
 * - A sweep of its own removes shared objects, not the sweep that released the last reference. So every external effect
 *   has a claim on its own row, and a crash between the two leaves a row that is due.
 */
import type { Crew, Shift } from '../../runtime/crew.ts'
import type { Database } from '../../store/database.ts'
import type { SweptTable } from '../../targets/postgres/swept-table.ts'
import type { Telemetry } from '../../telemetry/telemetry.ts'
import type { SweepDefinition, SweepRegistry } from './definition.ts'
import { fit } from './fit.ts'
import { SweepLoop } from './loop.ts'

interface Deps {
  database: Database
  telemetry: Telemetry
  registry: SweepRegistry
  /** Wait between looks for something to do when there was nothing. */
  pollMs: number
}

/** Works on the sweeps of this process until the shift ends. */
export class SweepCrew implements Crew {
  readonly #deps: Deps
  readonly #sweeps: readonly { definition: SweepDefinition; swept: SweptTable }[]
  readonly #loops = new Map<string, SweepLoop>()

  private constructor(deps: Deps, sweeps: readonly { definition: SweepDefinition; swept: SweptTable }[]) {
    this.#deps = deps
    this.#sweeps = sweeps
  }

  /** Finds the tables of all sweeps. Refuses definitions that do not fit them. */
  static async assemble(deps: Deps): Promise<SweepCrew> {
    const sweeps = []
    for (const definition of deps.registry.definitions) {
      sweeps.push({ definition, swept: await fit(deps.database.control, definition) })
    }
    return new SweepCrew(deps, sweeps)
  }

  /** Says that rows of a sweep may be due. */
  wake(name: string): void {
    this.#loops.get(name)?.wake()
  }

  async work(shift: Shift): Promise<void> {
    const { database, telemetry, pollMs } = this.#deps
    const onZero = (table: string): void => {
      for (const { definition, swept } of this.#sweeps) if (swept.table === table) this.wake(definition.name)
    }
    for (const { definition, swept } of this.#sweeps) {
      const place = { definition, swept, database, telemetry, shift, onZero }
      this.#loops.set(definition.name, new SweepLoop(place, pollMs))
    }
    await Promise.all([...this.#loops.values()].map((loop) => loop.work()))
    this.#loops.clear()
  }
}
