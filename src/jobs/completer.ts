import { backoffMs } from '../std/backoff.ts'
import { errorRecord } from '../std/error-record.ts'
import { sleep } from '../std/sleep.ts'
import type { Database } from '../store/database.ts'
import { completedBy, type JobClaim, type Span } from '../store/jobs/settle.ts'
import { classify, sqlstate } from '../store/sqlstate.ts'
import type { Telemetry } from '../telemetry/telemetry.ts'
import { serverTimeOf, unstorable, type Attempt } from './attempt.ts'
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
/** History is asked about so much time at once: some 100,000 rows where it is busy. */
const recallMs = 300_000
/** So often, before what cannot be found out counts as lost. Nothing but what is told of it depends on that. */
const mostRecalls = 10

/** What is known after a write: which endings were still ours, and whether others may have been written before. */
interface Written {
  kept: Set<number>
  inDoubt: boolean
}

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
  readonly #recalls = new Set<Promise<void>>()

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
    while (this.#recalls.size > 0 && !signal.aborted) {
      await Promise.race([Promise.all(this.#recalls), sleep(1_000, signal)])
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
      const began = performance.now()
      const { kept, inDoubt } = await this.#persist(batch, emptyClaims)
      for (const claimId of emptyClaims) this.#held.delete(claimId)
      const gone = batch.filter(({ ending }) => !kept.has(ending.id))
      for (const due of batch) if (kept.has(due.ending.id)) this.#settle(due, true)
      if (!inDoubt) for (const due of gone) this.#settle(due, false)
      else if (gone.length > 0) this.#recallLater(gone, began)
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

  #settle({ attempt, ending }: Due, kept: boolean): void {
    this.#deps.onSettled(attempt, ending, kept)
  }

  async #persist(batch: Due[], emptyClaims: string[]): Promise<Written> {
    for (let attempt = 1; ; attempt++) {
      try {
        // Again after a lost answer: what had been written is not ours any more, and nothing happens to it.
        return { kept: new Set(await this.#write(batch, emptyClaims)), inDoubt: attempt > 1 }
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
  async #isolate(batch: Due[], emptyClaims: string[], cause: unknown): Promise<Written> {
    const [first, ...others] = batch
    const kept = new Set<number>()
    if (first === undefined || (others.length === 0 && first.isolated === true)) return { kept, inDoubt: true }
    if (others.length === 0) {
      first.ending = unstorable(first.attempt, cause)
      first.isolated = true
      return this.#persist([first], emptyClaims)
    }
    for (const due of batch) {
      const empty = due === others.at(-1) ? emptyClaims : []
      for (const id of (await this.#persist([due], empty)).kept) kept.add(id)
    }
    return { kept, inDoubt: true }
  }

  /** Finds out what became of endings whose answer was lost, beside all that is still to be written. */
  #recallLater(gone: readonly Due[], beganMs: number): void {
    const recall = this.#recall(gone, beganMs).finally(() => this.#recalls.delete(recall))
    this.#recalls.add(recall)
  }

  /**
   * What had been written and what others had taken over look the same to a second write. History tells them apart: it
   * is read from the first write on, in small spans of time, because it may hold millions of jobs.
   */
  async #recall(gone: readonly Due[], beganMs: number): Promise<void> {
    const left = new Set(gone)
    const settle = (kept: boolean) => (due: Due) => {
      left.delete(due)
      this.#settle(due, kept)
    }
    gone.filter(({ ending }) => ending.kind !== 'completed').forEach(settle(false))
    const times = [...left].map(({ attempt }) => serverTimeOf(attempt, beganMs))
    const [from, until] = [Math.min(...times), Math.max(...times) + performance.now() - beganMs]
    for (let fromMs = from; left.size > 0 && fromMs <= until; fromMs += recallMs) {
      const toMs = fromMs + recallMs
      const found = await this.#completed([...left], toMs > until ? { fromMs } : { fromMs, toMs })
      const keys = new Set(found.map(keyOf))
      for (const due of left) if (keys.has(keyOf(due.ending))) settle(true)(due)
    }
    left.forEach(settle(false))
  }

  async #completed(due: readonly Due[], span: Span): Promise<JobClaim[]> {
    const claims = due.map(({ ending }) => ending)
    for (let attempt = 1; attempt <= mostRecalls; attempt++) {
      try {
        return await completedBy(this.#deps.database.control, { claims, ...span })
      } catch (error) {
        const waitMs = backoffMs(attempt, { baseMs: 50, maxMs: 5_000 }, Math.random())
        const lost = { purpose: 'job completion', error: errorRecord(error), attempt, waitMs }
        this.#deps.telemetry.emit('connection.lost', lost)
        await sleep(waitMs)
      }
    }
    return []
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

const keyOf = ({ id, claimId }: JobClaim): string => `${id} ${claimId}`

/** The database, or our own code, cannot take what was to be written: it is no use to say it again. */
function isRefusal(error: unknown): boolean {
  return classify(error) === 'rows' && /^(22|23)/.test(sqlstate(error) ?? '22')
}
