/**
 * Reconcilers: what makes a queue self-healing.
 *
 * The model. The state of the work is in the user's records; a job is only a reminder. A reconciler is a query for
 * records that are pending for longer than they should be. Every interval one worker runs it, walks the result by key
 * in pages of a thousand, and enqueues the job for each. Jobs are unique, so records whose job waits are passed over.
 *
 * The invariants. There is no leader: one guarded statement moves `next_at` on, and who did it runs the interval. A run
 * has a nonce and moves `next_at` on with every page, so a long run is not joined by a second one, and one that was
 * asleep stops at its next page. Only the database's clock is compared.
 *
 * On a crash in mid-run the pages that were enqueued stay, and the next interval finds the rest: there is no cursor to
 * lose. When the whole queue is lost, also with the row of the reconciler, everything that is pending is enqueued anew.
 * When only jobs are lost and their unique keys are not, the keys are freed first.
 */
import { randomUUID } from 'node:crypto'
import { SluiceError } from '../../errors.ts'
import type { Jobs } from '../../jobs/jobs.ts'
import type { JobQueue } from '../../jobs/queue.ts'
import type { ErrorRecord } from '../../std/error-record.ts'
import { audited, type Who } from '../../store/audit.ts'
import type { Database } from '../../store/database.ts'
import { listReconcilers, takeNow } from '../../store/reconcilers.ts'
import type { Telemetry } from '../../telemetry/telemetry.ts'
import type { ReconcilerDefinition, ReconcilerRegistry } from './define.ts'
import { runReconciler, type Reconciled } from './run.ts'

/** A reconciler, and what its last run found. */
export interface ReconcilerStatus {
  name: string
  /** The interval; null: this process does not know the reconciler. */
  everyMs: number | null
  /** Null: it has not run yet. */
  nextAt: Date | null
  startedAt: Date | null
  finishedAt: Date | null
  running: boolean
  found: number
  enqueued: number
  error: ErrorRecord | null
}

interface Deps {
  database: () => Promise<Database>
  registry: ReconcilerRegistry
  jobs: Jobs
  queue: JobQueue
  telemetry: Telemetry
}

/** Reconcilers: look at them, and run one now. */
export class Reconcilers {
  readonly #deps: Deps

  constructor(deps: Deps) {
    this.#deps = deps
  }

  /** All reconcilers that this process knows or that have ever run, by name. */
  async list(): Promise<ReconcilerStatus[]> {
    const { registry, database } = this.#deps
    const views = new Map((await listReconcilers((await database()).control)).map((view) => [view.name, view]))
    const names = [...new Set([...registry.names, ...views.keys()])].toSorted()
    return names.map((name) => {
      const view = views.get(name)
      return {
        name,
        everyMs: registry.has(name) ? registry.find(name).everyMs : null,
        nextAt: view?.next_at ?? null,
        startedAt: view?.started_at ?? null,
        finishedAt: view?.finished_at ?? null,
        running: view?.running ?? false,
        found: view?.found ?? 0,
        enqueued: view?.enqueued ?? 0,
        error: view?.error ?? null,
      }
    })
  }

  /** Runs a reconciler here and now, whether it is due or not; its next interval begins at this moment. */
  async run(reconciler: ReconcilerDefinition | string, who: Who = {}): Promise<Reconciled> {
    const { registry, database: open, ...rest } = this.#deps
    const definition = registry.find(typeof reconciler === 'string' ? reconciler : reconciler.name)
    const database = await open()
    const nonce = randomUUID()
    await audited(database, who, async (tx) => ({
      result: await takeNow(tx, { ...definition, nonce }),
      act: { action: 'reconciler.run', target: definition.name },
    }))
    const reconciled = await runReconciler({ database, ...rest }, definition, { nonce })
    if (!reconciled.lost) return reconciled
    throw new SluiceError('RECONCILER_BUSY', {
      message: `Another run of "${definition.name}" has taken over. Nothing is lost; look at it with "sluice reconcilers list".`,
      details: { name: definition.name },
    })
  }
}
