import { SluiceError } from '../../errors.ts'
import type { ErrorRecord } from '../../std/error-record.ts'
import { audited, type Who } from '../../store/audit.ts'
import type { StoreConnection } from '../../store/connection.ts'
import type { Database } from '../../store/database.ts'
import { quarantinedClaims, retryClaims } from '../../store/sweep-claims.ts'
import { offerWaiting, sweepFigures, wantSweep, type SweepFigures } from '../../store/sweeps.ts'
import { countDue } from '../../targets/postgres/claim.ts'
import type { Telemetry } from '../../telemetry/telemetry.ts'
import { closedReason, isOpen, nextOpening, type Window } from '../../runtime/window.ts'
import type { SweepDefinition, SweepRegistry } from './definition.ts'
import { fit } from './fit.ts'

/** A sweep and what it has at hand. */
export interface SweepStatus {
  name: string
  table: string
  /** Rows that a worker has right now. */
  claimed: number
  /** Rows that wait for another attempt. */
  waiting: number
  /** Rows that were isolated with their error. */
  quarantined: number
  /** Why the sweep does nothing until when; null: it may work. */
  held: { reason: string; until: Date | null } | null
}

/** A row that was isolated, and the error of its last attempt. */
export interface QuarantinedSweepRow {
  key: readonly string[]
  error: ErrorRecord | null
  attempts: number
  /** How many workers died while they had it. */
  crashes: number
  at: Date
}

interface Deps {
  database: () => Promise<Database>
  registry: SweepRegistry
  telemetry: Telemetry
  /** Wakes those who work on a sweep in this process. */
  wake: (name: string) => void
}

/** Due rows are counted up to this: a count without end would read the whole table. */
const mostCounted = 10_000

/** Sweeps: look at them, have them run now, and take up what was isolated. */
export class Sweeps {
  readonly #deps: Deps

  constructor(deps: Deps) {
    this.#deps = deps
  }

  /** All sweeps that this process knows, by name. One that does not fit its table is held, and says why. */
  async list(): Promise<SweepStatus[]> {
    const { registry } = this.#deps
    const { control } = await this.#deps.database()
    const figures = await sweepFigures(control, { names: registry.names })
    const sweeps: SweepStatus[] = []
    for (const one of figures) {
      const definition = registry.find(one.name)
      const reason = await reasonOfMisfit(control, definition)
      const status = statusOf(definition, one)
      sweeps.push(reason === undefined ? status : { ...status, held: { reason, until: null } })
    }
    return sweeps
  }

  /** One sweep, and how many rows are due that nobody has claimed; counts no further than 10,000. */
  async get(name: string): Promise<SweepStatus & { due: number }> {
    const definition = this.#deps.registry.find(name)
    const { control } = await this.#deps.database()
    const [figures] = await sweepFigures(control, { names: [name] })
    const swept = await fit(control, definition)
    const due = await countDue(control, swept, { sweep: name, most: mostCounted })
    if (figures === undefined) throw new Error('a sweep has figures, known or not')
    return { ...statusOf(definition, figures), due }
  }

  /** Has all workers look for due rows now, within a moment; a hold of the circuit breaker is over. */
  async run(name: string, who: Who = {}): Promise<void> {
    this.#deps.registry.find(name)
    await audited(await this.#deps.database(), who, async (tx) => {
      const result = await wantSweep(tx, { name })
      await offerWaiting(tx, { name })
      return { result, act: { action: 'sweep.run', target: name } }
    })
    this.#deps.wake(name)
  }

  /** Rows that were isolated, latest first. */
  async quarantined(name: string, { limit = 100 }: { limit?: number } = {}): Promise<QuarantinedSweepRow[]> {
    this.#deps.registry.find(name)
    const { control } = await this.#deps.database()
    const rows = await quarantinedClaims(control, { sweep: name, limit: Math.min(Math.max(1, limit), 10_000) })
    return rows.map(({ quarantined_at: at, ...row }) => ({ ...row, at }))
  }

  /** Takes up isolated rows again, with the same idempotency key: one by its key, or all. Gives their number. */
  async retry(name: string, key?: readonly (string | number)[], who: Who = {}): Promise<number> {
    this.#deps.registry.find(name)
    const one = key?.map(String) ?? null
    const rows = await audited(await this.#deps.database(), who, async (tx) => {
      const result = await retryClaims(tx, { sweep: name, key: one })
      const act = { action: 'sweep.retry', target: name, after: { key: one, rows: result.length } }
      return { result, act: result.length === 0 ? undefined : act }
    })
    if (rows.length > 0) this.#deps.wake(name)
    return rows.length
  }
}

async function reasonOfMisfit(control: StoreConnection, definition: SweepDefinition): Promise<string | undefined> {
  try {
    await fit(control, definition)
    return undefined
  } catch (error) {
    if (!(error instanceof SluiceError) || error.code.startsWith('DATABASE_')) throw error
    // Who may only look at our tables cannot tell; the account of a worker may do more.
    return error.code === 'PERMISSION_DENIED' ? undefined : error.message
  }
}

function statusOf(
  { name, names: { table }, window }: SweepDefinition,
  { claimed, waiting, quarantined, now, held_until: until, held_reason: reason }: SweepFigures,
): SweepStatus {
  const held = until === null ? closed(window, now) : { reason: reason ?? '', until }
  return { name, table, claimed, waiting, quarantined, held }
}

function closed(window: Window | undefined, now: Date): SweepStatus['held'] {
  if (window === undefined || isOpen(window, now)) return null
  return { reason: closedReason(window, now), until: nextOpening(window, now) }
}
