/**
 * The audit: who changed what, from where and why.
 *
 * The model. Each verb of a person (pause, retry, disable, …) writes one row with what was before and after, in the
 * transaction of the change: there is neither a change without its row nor a row without its change. What changes
 * nothing writes none. The verbs are the only way to those changes for the command line, the dashboard and code, so
 * all of them are on record.
 *
 * The invariants. Rows come in by one function; roles of workers have no other right than to read them, and a trigger
 * refuses to change or remove any, whoever asks. Only the owner of the tables could take that trigger away.
 *
 * Decision: the verbs write the audit, not triggers. A trigger sees a change, but not who asked for it or why; one
 * function in the transaction of the verb knows all three.
 */
import { SluiceError } from '../../errors.ts'
import { storable } from '../../std/storable.ts'
import { listAudit, type AuditRow, type AuditSource } from '../../store/audit.ts'
import type { Database } from '../../store/database.ts'

/** Which acts to list. Without a filter: all. */
export interface AuditQuery {
  actor?: string
  source?: AuditSource
  /** An action, such as `operation.pause`, or all of a kind: `operation`. */
  action?: string
  /** What it was done to: an id or a name. */
  target?: string
  since?: Date
  until?: Date
}

/** Acts, and the id to continue the list from. */
export interface AuditPage {
  acts: AuditRow[]
  /** Give it as `before` for the next page; null: there is no more. */
  next: number | null
}

const perPage = 500

/** What people have changed. */
export class Audit {
  readonly #database: () => Promise<Database>

  constructor(database: () => Promise<Database>) {
    this.#database = database
  }

  /**
   * Acts, latest first, a page at a time.
   *
   * @example
   * ```ts
   * const { acts } = await sluice.audit.list({ action: 'operation', actor: 'ada' })
   * ```
   */
  async list(query: AuditQuery & { before?: number | null; limit?: number } = {}): Promise<AuditPage> {
    for (const moment of [query.since, query.until]) checkMoment(moment)
    const limit = Math.min(Math.max(1, Math.floor(query.limit ?? 50)), 1_000)
    const found = await listAudit((await this.#database()).control, {
      actor: wordOf(query.actor),
      source: wordOf(query.source),
      action: wordOf(query.action),
      target: wordOf(query.target),
      since: query.since ?? null,
      until: query.until ?? null,
      before: query.before ?? null,
      limit: limit + 1,
    })
    const acts = found.slice(0, limit)
    return { acts, next: found.length > limit ? (acts.at(-1)?.id ?? null) : null }
  }

  /** All acts of a query, latest first, for an export: read page by page. */
  async *all(query: AuditQuery = {}): AsyncGenerator<AuditRow> {
    let before: number | null = null
    do {
      const page: AuditPage = await this.list({ ...query, before, limit: perPage })
      yield* page.acts
      before = page.next
    } while (before !== null)
  }
}

const wordOf = (word: string | undefined): string | null => (word === undefined ? null : storable(word, 2_000))

function checkMoment(moment: Date | undefined): void {
  if (moment === undefined || !Number.isNaN(moment.getTime())) return
  throw new SluiceError('ARGS_INVALID', {
    message: 'The audit cannot be listed: "since" and "until" must be dates.',
    details: {},
  })
}
