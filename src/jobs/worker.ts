/**
 * Jobs: how a process works on them.
 *
 * The model. Jobs wait in a queue (`queue.ts`). A process claims many at once under one nonce, runs their handlers, and
 * writes their ends down, many at once. A job goes one way: claim (here) → attempt (`runner.ts`) → judge (`policy.ts`) →
 * settle (`completer.ts`) → report (`report.ts`). No step calls back into the one before; room and new work are told by
 * condition variables.
 *
 * The invariants. A claim is the nonce in the job's row: whoever does not have it changes nothing. A job that is
 * claimed is in a claim row of its worker, so it can be freed when that worker goes silent. Unique keys are freed in
 * the statement that starts or ends their job, and what waits behind a concurrency key is let in by the transaction
 * that made room. Hints (LISTEN, a wake-up from this process) only save time: polling finds everything.
 *
 * On a crash the worker's sign of life stops, any other worker frees its jobs, and they run again. Which of them was
 * its death is not known. They come back only where they can begin at once; those that were there when a second worker
 * died are suspect, and a process runs one of these at a time: so a job that kills its workers is found and isolated,
 * and not its neighbours.
 */
import type { Crew, Shift } from '../runtime/crew.ts'
import { backoffMs } from '../std/backoff.ts'
import { Condition } from '../std/condition.ts'
import { errorRecord } from '../std/error-record.ts'
import { sleep, ticks } from '../std/sleep.ts'
import { Attempt, released, WorkerStopping } from './attempt.ts'
import { keepJobs } from './chores.ts'
import { Completer } from './completer.ts'
import type { ContextTools } from './context.ts'
import type { JobRegistry } from './definition.ts'
import type { Claimed, JobQueue, QueueWorker, Weights } from './queue.ts'
import { Runner } from './runner.ts'
import { watchClaims, watchTime } from './watch.ts'

/** How a process works on jobs. */
export interface JobOptions {
  /** Jobs at once. */
  concurrency: number
  /** Wait between looks for work when there was none and nobody gave a hint. */
  pollMs: number
  queues: Weights
  keepDays: number
  keepDeadDays: number
}

interface Deps extends ContextTools {
  queue: JobQueue
  registry: JobRegistry
}

/** Runs jobs in this process until the shift ends. */
export class JobWorker implements Crew {
  readonly #options: JobOptions
  readonly #deps: Deps

  constructor(options: JobOptions, deps: Deps) {
    this.#options = options
    this.#deps = deps
  }

  async work(shift: Shift): Promise<void> {
    const { queue, telemetry, registry } = this.#deps
    const { concurrency, queues: weights, keepDays, keepDeadDays } = this.#options
    const { workerId, stopping, leaseMs } = shift
    const hint = new Condition()
    const worker: QueueWorker = {
      workerId,
      jobs: registry.definitions,
      weights,
      get idle() {
        return runner.idle
      },
      hint,
    }
    const completer = new Completer({ queue, worker, telemetry })
    const runner: Runner = new Runner({ ...this.#deps, worker, concurrency, stopping, next: completer })
    const parts: Parts = { shift, worker, runner, completer }
    const { running } = runner
    shift.ending.addEventListener('abort', () => stopAll(running))
    // Handlers are watched until the last one has ended, which may be long after the shift stops.
    const over = new AbortController()
    const watching = Promise.all([
      watchTime(running, over.signal),
      watchClaims(running, { queue, worker, signal: over.signal }),
    ])
    // Claims go out on the connection that listens, so it goes after the last of them.
    const unheard = new AbortController()
    const kept = { keepDays, keepDeadDays }
    await Promise.all([
      this.#claimLoop(parts).finally(() => unheard.abort()),
      keepJobs({ queue, worker, telemetry, leaseMs, kept, signal: stopping }),
      this.#returnStrays(parts),
      queue.listen(worker, unheard.signal),
    ])
    // What was claimed and not begun goes back at once.
    for (const attempt of runner.clear()) completer.end(attempt, released(attempt))
    while (running.size > 0) await runner.room.wait(1_000)
    over.abort()
    await watching
    await completer.drained(AbortSignal.timeout(10_000))
  }

  async #claimLoop(parts: Parts): Promise<void> {
    const { stopping } = parts.shift
    const { hint } = parts.worker
    const { room } = parts.runner
    stopping.addEventListener('abort', () => {
      hint.interrupt()
      room.interrupt()
    })
    for (let failures = 0; !stopping.aborted;) {
      try {
        await parts.shift.trusted(stopping)
        const limit = wanted(parts)
        // Endings that wait to be written make room, too, and do not notify.
        if (limit === 0) await room.wait(100)
        // A stop that came meanwhile interrupted nobody.
        else if (!(await this.#take(parts, limit)) && !hint.notified && !stopping.aborted)
          await hint.wait(jittered(this.#options.pollMs))
        failures = 0
      } catch (error) {
        failures += 1
        const waitMs = backoffMs(failures, { baseMs: 200, maxMs: 10_000 }, Math.random())
        this.#deps.telemetry.emit('connection.lost', {
          purpose: 'jobs',
          error: errorRecord(error),
          attempt: failures,
          waitMs,
        })
        await sleep(waitMs, stopping)
      }
    }
  }

  /** Claims; true when there may be more. */
  async #take({ worker, runner, completer }: Parts, limit: number): Promise<boolean> {
    const { hint } = worker
    const order = { limit, free: runner.free, suspects: completer.suspects > 0 ? 0 : 1, hinted: hint.consume() }
    let count = 0
    for await (const claimed of this.#deps.queue.claim(worker, order)) {
      count += claimed.jobs.length
      this.#receive(claimed, { runner, completer })
    }
    return count >= Math.max(1, Math.floor(limit / 2)) || hint.notified
  }

  #receive(claimed: Claimed, { runner, completer }: Pick<Parts, 'runner' | 'completer'>): void {
    const { claimId, jobs, clockMs, misplaced } = claimed
    completer.opened(claimed)
    const now = Date.now()
    for (const job of jobs) {
      const definition = this.#deps.registry.find(job.name)
      const attempt = new Attempt(job, { claimId, definition, queue: job.queue, now, clockMs })
      if (misplaced.has(job)) {
        completer.end(attempt, released(attempt))
        continue
      }
      runner.add(attempt)
    }
    runner.fill()
  }

  /** The net under all that is claimed: every lease, what is claimed in our name and unknown here goes back. */
  async #returnStrays({ shift: { leaseMs, stopping }, worker, completer }: Parts): Promise<void> {
    const { queue, telemetry } = this.#deps
    for await (const _ of ticks(leaseMs, stopping)) {
      try {
        const { returned } = await queue.rescue(worker, { known: completer })
        if (returned === 0) continue
        const message = `Gave back ${returned} jobs that were claimed for this worker and had not reached it.`
        telemetry.emit('warning', { message })
      } catch (error) {
        // The next tick asks again; the loop that claims reports what the database says.
        telemetry.emit('warning', { message: `Looking for stray claims failed: ${errorRecord(error).message}` })
      }
    }
  }
}

/** What one shift works with. */
interface Parts {
  shift: Shift
  worker: QueueWorker
  runner: Runner
  completer: Completer
}

/** How many jobs to claim now; 0 while enough are at hand. */
function wanted({ runner, completer }: Parts): number {
  return completer.backlog > 10_000 ? 0 : runner.wanted
}

function stopAll(running: ReadonlySet<Attempt>): void {
  for (const { stop } of running) stop.stop(new WorkerStopping('the worker is stopping'))
}

function jittered(ms: number): number {
  return ms * (0.8 + Math.random() * 0.4)
}
