import { backoffMs } from '../std/backoff.ts'
import { errorRecord } from '../std/error-record.ts'
import { sleep } from '../std/sleep.ts'
import { classify, sqlstate } from '../store/sqlstate.ts'
import type { Telemetry } from '../telemetry/telemetry.ts'
import { serverTimeOf, unstorable, type Attempt } from './attempt.ts'
import { claimKey, type Ending } from './ending.ts'
import { HeldClaims } from './held-claims.ts'
import { isSuspect, type Claimed, type JobQueue, type QueueWorker, type Settled } from './queue.ts'
import { reportEnding } from './report.ts'
import type { Result } from './runner.ts'

/** An ending on its way to the database. */
interface Due {
  attempt: Attempt
  ending: Ending
  /** When it was first sent, if no answer came: it may have been written. */
  sentMs?: number
  /** It is what is left of an ending that could not be stored. */
  isolated?: boolean
}

interface Deps {
  queue: JobQueue
  worker: QueueWorker
  telemetry: Telemetry
}

/** Endings per statement. */
const atOnce = 1_000
/** How long the ending of a member waits for the lock on the row of its batch: first, and once it waits apart. */
const [memberLockMs, apartLockMs] = [100, 500]
/** Endings that are written one statement after the other. */
interface Lane {
  due: Due[]
  flushing: Promise<void> | undefined
  /** The batch of jobs that was found locked, and whose members wait here. */
  readonly apart?: number
  /** How often that was so. */
  locked: number
}

const newLane = (apart: { apart?: number } = {}): Lane => ({ due: [], flushing: undefined, locked: 0, ...apart })

/**
 * Writes endings down, all that have come while the last statement was under way in one go. Each is compared with the
 * nonce of its claim. Never gives up: an ending that is not written would mean that the job runs again. What is written
 * is reported.
 *
 * A transaction that seals or cancels a batch of jobs locks its row until it commits, and members wait to be counted.
 * They do so apart, so that nobody else waits with them: members have a lane of their own, and those of a batch that
 * was found locked leave that one, too.
 */
export class Completer {
  readonly #deps: Deps
  readonly #claims = new HeldClaims()
  readonly #plain = newLane()
  readonly #members = newLane()
  /** By the batch of jobs that was found locked. */
  readonly #apart = new Map<number, Lane>()
  /** Those apart take turns: each may wait with a connection. */
  #turn: Promise<unknown> = Promise.resolve()
  readonly #recalls = new Set<Promise<void>>()
  #suspects = 0

  constructor(deps: Deps) {
    this.#deps = deps
  }

  /** How many endings are not written down yet. */
  get backlog(): number {
    return this.#lanes.reduce((sum, { due }) => sum + due.length, 0)
  }

  get #lanes(): Lane[] {
    return [this.#plain, this.#members, ...this.#apart.values()]
  }

  /** How many jobs are at hand on which more than one worker has died. */
  get suspects(): number {
    return this.#suspects
  }

  /** Takes note of a claim; when all of its jobs have ended, it goes. */
  opened({ claimId, jobs }: Pick<Claimed, 'claimId' | 'jobs'>): void {
    this.#claims.opened(claimId, jobs.length)
    for (const job of jobs) if (isSuspect(job)) this.#suspects += 1
  }

  /** Whether a claim is at hand here, or on its way to its end. */
  has(claimId: string): boolean {
    return this.#claims.has(claimId)
  }

  /** Takes the result of an attempt; nothing is left to write where its own transaction has done so. */
  end(attempt: Attempt, result: Result): void {
    if (result.kind === 'written' || result.kind === 'lost') {
      this.#claims.left(attempt.claimId)
      this.#flush(this.#plain)
      return this.#report(attempt, result.kind === 'written' ? result.ending : undefined)
    }
    const lane = this.#laneOf(attempt)
    lane.due.push({ attempt, ending: result })
    this.#flush(lane)
  }

  /** Waits until everything is written down, or the signal aborts. */
  async drained(signal: AbortSignal): Promise<void> {
    const busy = (): Promise<void>[] => this.#lanes.flatMap(({ flushing }) => flushing ?? [])
    for (let rest = busy(); rest.length > 0 && !signal.aborted; rest = busy()) {
      await Promise.race([Promise.all(rest), sleep(1_000, signal)])
    }
    while (this.#recalls.size > 0 && !signal.aborted) {
      await Promise.race([Promise.all(this.#recalls), sleep(1_000, signal)])
    }
  }

  #laneOf({ job: { batchId } }: Attempt): Lane {
    return batchId === null ? this.#plain : (this.#apart.get(batchId) ?? this.#members)
  }

  #flush(lane: Lane): void {
    if (this.#hasWork(lane)) lane.flushing ??= this.#empty(lane)
  }

  #hasWork(lane: Lane): boolean {
    return lane.due.length > 0 || (lane === this.#plain && this.#claims.anyEmpty)
  }

  async #empty(lane: Lane): Promise<void> {
    // What ends in the same turn of the event loop goes together.
    await new Promise<void>((resolve) => setImmediate(resolve))
    while (this.#hasWork(lane)) {
      const batch = nextOf(lane)
      const emptyClaims = this.#claims.emptyAfter(batch.map(({ ending }) => ending.claimId))
      const kept = await this.#persist(lane, batch, emptyClaims)
      if (kept === undefined) await this.#waitApart(lane, batch, emptyClaims)
      else this.#written(batch, emptyClaims, kept)
    }
    lane.flushing = undefined
    if (lane.apart !== undefined) this.#apart.delete(lane.apart)
    // The last of a claim may have been written by two lanes at the same moment.
    this.#flush(this.#plain)
  }

  #written(batch: readonly Due[], emptyClaims: readonly string[], kept: ReadonlySet<number>): void {
    this.#claims.gone(emptyClaims)
    for (const { ending } of batch) this.#claims.left(ending.claimId)
    const doubtful: Due[] = []
    for (const due of batch) {
      if (kept.has(due.ending.id)) this.#report(due.attempt, due.ending)
      else if (due.sentMs === undefined) this.#report(due.attempt, undefined)
      else doubtful.push(due)
    }
    if (doubtful.length > 0) this.#recallLater(doubtful)
  }

  /** Says how an attempt ended, once that is written down; without an ending, the job was somebody else's by then. */
  #report(attempt: Attempt, ending: Ending | undefined): void {
    reportEnding(this.#deps.telemetry, attempt, ending)
    if (!isSuspect(attempt.job)) return
    // Not before its end is written down: the next suspect could take it along.
    this.#suspects -= 1
    this.#deps.worker.hint.notify()
  }

  /** Gives the ids of those that were still ours; undefined: a batch of jobs is locked, and nothing was written. */
  async #persist(lane: Lane, batch: Due[], emptyClaims: string[]): Promise<Set<number> | undefined> {
    for (let attempt = 1; ; attempt++) {
      const sentMs = performance.now()
      try {
        // Again after a lost answer: what had been written is not ours any more, and nothing happens to it.
        const settled = await this.#write(lane, batch, emptyClaims)
        return settled === 'busy' ? undefined : new Set(settled.kept)
      } catch (error) {
        for (const due of batch) due.sentMs ??= sentMs
        const waitMs = backoffMs(attempt, { baseMs: 50, maxMs: 5_000 }, Math.random())
        const lost = { purpose: 'job completion', error: errorRecord(error), attempt, waitMs }
        this.#deps.telemetry.emit('connection.lost', lost)
        if (isRefusal(error) && attempt > 2) return this.#isolate(lane, batch, { emptyClaims, cause: error })
        await sleep(waitMs)
      }
    }
  }

  /** Lets the members of a batch of jobs that is locked wait by themselves, and try again. */
  async #waitApart(lane: Lane, batch: readonly Due[], emptyClaims: readonly string[]): Promise<void> {
    this.#claims.stayed(emptyClaims)
    if (lane.apart !== undefined) {
      lane.due.unshift(...batch)
      lane.locked += 1
      if (lane.locked === 1) this.#warn(lane.apart, lane.due.length)
      return sleep(backoffMs(lane.locked, { baseMs: 100, maxMs: 1_000 }, Math.random()))
    }
    // It is not told which one is locked.
    const apart = new Set(batch.map(batchOf))
    const waiting = [...batch, ...lane.due]
    lane.due = waiting.filter((due) => !apart.has(batchOf(due)))
    for (const id of apart) {
      const own = newLane({ apart: id })
      own.due = waiting.filter((due) => batchOf(due) === id)
      this.#apart.set(id, own)
      this.#flush(own)
    }
    this.#flush(this.#plain)
  }

  #warn(batchId: number, endings: number): void {
    const message = `The ends of ${endings} jobs wait: a transaction that is open has locked their batch of jobs, ${batchId}.`
    this.#deps.telemetry.emit('warning', { message })
  }

  /** Endings that the database refuses: each goes alone, and the one at fault becomes an ending that can be stored. */
  async #isolate(
    lane: Lane,
    batch: Due[],
    { emptyClaims, cause }: { emptyClaims: string[]; cause: unknown },
  ): Promise<Set<number>> {
    const [first, ...others] = batch
    const kept = new Set<number>()
    if (first === undefined || (others.length === 0 && first.isolated === true)) return kept
    if (others.length === 0) {
      first.ending = unstorable(first.attempt, cause)
      first.isolated = true
      return this.#insist(lane, first, emptyClaims)
    }
    for (const due of batch) {
      const empty = due === others.at(-1) ? emptyClaims : []
      for (const id of await this.#insist(lane, due, empty)) kept.add(id)
    }
    return kept
  }

  async #insist(lane: Lane, due: Due, emptyClaims: string[]): Promise<Set<number>> {
    for (let attempt = 1; ; attempt++) {
      const kept = await this.#persist(lane, [due], emptyClaims)
      if (kept !== undefined) return kept
      await sleep(backoffMs(attempt, { baseMs: 100, maxMs: 1_000 }, Math.random()))
    }
  }

  /** Finds out what became of endings whose answer was lost, beside all that is still to be written. */
  #recallLater(gone: readonly Due[]): void {
    const recall = this.#recall(gone).finally(() => this.#recalls.delete(recall))
    this.#recalls.add(recall)
  }

  async #recall(gone: readonly Due[]): Promise<void> {
    const { queue, worker } = this.#deps
    const completed = gone.filter(({ ending }) => ending.kind === 'completed')
    for (const { attempt, ending } of gone) if (ending.kind !== 'completed') this.#report(attempt, undefined)
    if (completed.length === 0) return
    const now = performance.now()
    const fromMs = Math.min(...completed.map(({ attempt, sentMs = now }) => serverTimeOf(attempt, sentMs)))
    const untilMs = Math.max(...completed.map(({ attempt }) => serverTimeOf(attempt, now)))
    const claims = completed.map(({ ending: { id, claimId } }) => ({ id, claimId }))
    const fates = await queue.look(worker, claims, { fromMs, untilMs })
    for (const { attempt, ending } of completed) {
      this.#report(attempt, fates.get(claimKey(ending)) === 'completed' ? ending : undefined)
    }
  }

  async #write(lane: Lane, batch: Due[], emptyClaims: string[]): Promise<Settled> {
    const { queue, worker } = this.#deps
    const order = { endings: batch.map(({ ending }) => ending), emptyClaims }
    if (lane === this.#plain) return queue.settle(worker, order)
    if (lane.apart === undefined) return queue.settle(worker, { ...order, lockMs: memberLockMs })
    const turn = this.#turn.then(() => queue.settle(worker, { ...order, lockMs: apartLockMs }))
    this.#turn = turn.catch(() => undefined)
    return turn
  }
}

/**
 * What to write next, each job once: a process that was taken for dead may have got its own job again, and what the
 * database says of one attempt must not be taken for the other's.
 */
function nextOf({ due }: Lane): Due[] {
  const ids = new Set<number>()
  const again = due.findIndex(({ ending }, i) => i >= atOnce || ids.size === ids.add(ending.id).size)
  return due.splice(0, again === -1 ? atOnce : again)
}

const batchOf = ({ attempt }: Due): number => attempt.job.batchId ?? 0

/** The database, or our own code, cannot take what was to be written: it is no use to say it again. */
function isRefusal(error: unknown): boolean {
  return classify(error) === 'rows' && /^(22|23)/.test(sqlstate(error) ?? '22')
}
