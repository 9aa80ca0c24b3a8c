import { backoffMs } from '../std/backoff.ts'
import { errorRecord } from '../std/error-record.ts'
import { sleep } from '../std/sleep.ts'
import type { Database } from '../store/database.ts'
import { completedBy } from '../store/jobs/settle.ts'
import { classify, sqlstate } from '../store/sqlstate.ts'
import type { Telemetry } from '../telemetry/telemetry.ts'
import { unstorable, type Attempt } from './attempt.ts'
import { writeEndings, type Ending } from './endings.ts'
import { reportBatches } from './members.ts'

/** An ending on its way to the database. */
interface Due {
  attempt: Attempt
  ending: Ending
  /** It is what is left of an ending that could not be stored. */
  isolated?: boolean
}

interface Deps {
  database: Database
  telemetry: Telemetry
  workerId: string
  /** Called when what was written let others in. */
  onAdmitted: () => void
  /** Called once an ending is written down (`kept`), or when the job turned out to be somebody else's by then. */
  onSettled: (attempt: Attempt, ending: Ending, kept: boolean) => void
}

/** So many endings go into one statement. */
const atOnce = 1_000

/**
 * Writes endings down, all that have come while the last statement was under way in one go. Each is compared with the
 * nonce of its claim. Never gives up: an ending that is not written would mean that the job runs again.
 */
export class Completer {
  readonly #deps: Deps
  /** How many jobs of each claim have not ended. */
  readonly #claims = new Map<string, number>()
  /** Claims whose row may still be there: until the ending of their last job is written. */
  readonly #held = new Set<string>()
  #due: Due[] = []
  #emptyClaims: string[] = []
  #flushing: Promise<void> | undefined

  constructor(deps: Deps) {
    this.#deps = deps
  }

  /** How many endings are not written down yet. */
  get backlog(): number {
    return this.#due.length
  }

  /** Says how many jobs a claim has; when all of them have ended, the claim goes. */
  opened(claimId: string, jobs: number): void {
    this.#claims.set(claimId, jobs)
    this.#held.add(claimId)
  }

  /** Whether a claim is at hand here, or on its way to its end. */
  holds(claimId: string): boolean {
    return this.#held.has(claimId)
  }

  /** Says that a job has left its claim in another way than by {@link end}. */
  left(claimId: string): void {
    this.#leave(claimId)
    if (this.#emptyClaims.length > 0) this.#flushing ??= this.#flush()
  }

  end(attempt: Attempt, ending: Ending): void {
    this.#due.push({ attempt, ending })
    this.#flushing ??= this.#flush()
  }

  /** Waits until everything is written down, or the signal aborts. */
  async drained(signal: AbortSignal): Promise<void> {
    while ((this.#due.length > 0 || this.#flushing !== undefined || this.#emptyClaims.length > 0) && !signal.aborted) {
      this.#flushing ??= this.#flush()
      await Promise.race([this.#flushing, sleep(1_000, signal)])
    }
  }

  async #flush(): Promise<void> {
    // What ends in the same turn of the event loop goes together.
    await new Promise<void>((resolve) => setImmediate(resolve))
    while (this.#due.length > 0 || this.#emptyClaims.length > 0) {
      const batch = this.#next()
      // A claim goes with its last job, not before: without it, others would take the rest for unclaimed.
      for (const { ending } of batch) this.#leave(ending.claimId)
      const emptyClaims = this.#emptyClaims.splice(0)
      const kept = await this.#persist(batch, emptyClaims)
      for (const claimId of emptyClaims) this.#held.delete(claimId)
      for (const { attempt, ending } of batch) this.#deps.onSettled(attempt, ending, kept.has(ending.id))
    }
    this.#flushing = undefined
  }

  /**
   * What to write next, each job once: a process that was taken for dead may have got its own job again, and what the
   * database says of one attempt must not be taken for the other's.
   */
  #next(): Due[] {
    const ids = new Set<number>()
    const again = this.#due.findIndex(({ ending }, i) => i >= atOnce || ids.size === ids.add(ending.id).size)
    return this.#due.splice(0, again === -1 ? atOnce : again)
  }

  #leave(claimId: string): void {
    const rest = (this.#claims.get(claimId) ?? 1) - 1
    if (rest > 0) this.#claims.set(claimId, rest)
    else {
      this.#claims.delete(claimId)
      this.#emptyClaims.push(claimId)
    }
  }

  async #persist(batch: Due[], emptyClaims: string[]): Promise<Set<number>> {
    const kept = new Set<number>()
    for (let attempt = 1; ; attempt++) {
      try {
        // After a lost answer, what had been written is no longer ours; history tells it apart from what was lost.
        if (attempt > 1) await this.#recall(batch, kept)
        for (const id of await this.#write(
          batch.filter(({ ending }) => !kept.has(ending.id)),
          emptyClaims,
        ))
          kept.add(id)
        return kept
      } catch (error) {
        const waitMs = backoffMs(attempt, { baseMs: 50, maxMs: 5_000 }, Math.random())
        const lost = { purpose: 'job completion', error: errorRecord(error), attempt, waitMs }
        this.#deps.telemetry.emit('connection.lost', lost)
        if (isRefusal(error) && attempt > 2) return this.#isolate(batch, emptyClaims, error)
        await sleep(waitMs)
      }
    }
  }

  /** Endings that the database refuses: each goes alone, and the one at fault becomes an ending that can be stored. */
  async #isolate(batch: Due[], emptyClaims: string[], cause: unknown): Promise<Set<number>> {
    const [first, ...others] = batch
    if (first === undefined || (others.length === 0 && first.isolated === true)) return new Set()
    if (others.length === 0) {
      first.ending = unstorable(first.attempt, cause)
      first.isolated = true
      return this.#persist([first], emptyClaims)
    }
    const kept = await this.#persist([first], [])
    for (const due of others) {
      const empty = due === others.at(-1) ? emptyClaims : []
      for (const id of await this.#persist([due], empty)) kept.add(id)
    }
    return kept
  }

  async #recall(batch: Due[], kept: Set<number>): Promise<void> {
    const completed = batch.filter(({ ending }) => ending.kind === 'completed').map(({ ending }) => ending)
    const { control } = this.#deps.database
    for (const { id } of await completedBy(control, { claims: completed })) kept.add(id)
  }

  async #write(batch: Due[], emptyClaims: string[]): Promise<number[]> {
    const { database, telemetry, workerId, onAdmitted } = this.#deps
    const endings = batch.map(({ ending }) => ending)
    const order = { endings, emptyClaims, workerId }
    const single = batch.every(({ attempt, ending }) => ending.kind === 'completed' && !attempt.job.keyed)
    const { ids, admitted, news } = single
      ? await writeEndings(database.control, order)
      : await database.control.transaction((transaction) => writeEndings(transaction, order))
    reportBatches(telemetry, news)
    if (admitted > 0) onAdmitted()
    return ids
  }
}

/** The database, or our own code, cannot take what was to be written: it is no use to say it again. */
function isRefusal(error: unknown): boolean {
  return classify(error) === 'rows' && /^(22|23)/.test(sqlstate(error) ?? '22')
}
