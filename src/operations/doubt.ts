import { backoffMs } from '../std/backoff.ts'
import { errorRecord } from '../std/error-record.ts'
import { sleep } from '../std/sleep.ts'
import * as batches from '../store/batches.ts'
import type { Key } from '../store/operations.ts'
import { classify } from '../store/sqlstate.ts'
import type { BatchRun } from './batch-run.ts'

/**
 * Where to go on after an error, from the claim row itself. The read locks the row, so it waits for a doubtful
 * transaction of ours to end, one way or the other.
 */
export async function findCheckpoint(run: BatchRun): Promise<{ checkpoint: Key | null } | 'lost' | 'stopped'> {
  return untilAnswered(run, async () => {
    const claim = await run.target.where(run.held)
    return claim ?? 'lost'
  })
}

/** Finishes the batch; when the answer was lost, history tells whether it was this claim that finished it. */
export async function settleFinish(
  run: BatchRun,
  sizes: batches.FoundSizes,
): Promise<batches.FinishedBatch | 'lost' | 'stopped'> {
  return untilAnswered(run, async () => {
    const { control } = run.database
    const [finished] = await batches.finish(control, { ...run.held, ...sizes })
    if (finished !== undefined) return finished
    const asked = { ...run.held, operationId: run.operation.id, seq: run.batch.seq }
    const [before] = await batches.finishedBy(control, asked)
    return before ?? 'lost'
  })
}

/** How often a question is asked that the database answers with an error: it may be a passing one. */
const triesOfRefused = 4

/** The doubt cannot be cleared: the database can be asked, and refuses to answer. */
class Unclear extends Error {
  override readonly name = 'Unclear'
}

/** Asks until the database answers, the claim is lost, or the worker stops. Throws when it refuses to answer. */
async function untilAnswered<T>(run: BatchRun, ask: () => Promise<T>): Promise<T | 'lost' | 'stopped'> {
  const since = performance.now()
  const { telemetry } = run
  for (let attempt = 1; ; attempt++) {
    try {
      const answer = await ask()
      if (attempt > 1) {
        telemetry.emit('connection.restored', { purpose: 'control', afterMs: Math.round(performance.now() - since) })
      }
      return answer
    } catch (error) {
      if (run.held.signal.aborted) return 'lost'
      if (run.stopping.aborted) return stopAsking(run, error)
      if (isRefusal(error) && attempt >= triesOfRefused) throw unclear(run, error)
      const waitMs = backoffMs(attempt, { baseMs: 100, maxMs: 5_000 }, Math.random())
      telemetry.emit('connection.lost', { purpose: 'control', error: errorRecord(error), attempt, waitMs })
      await sleep(waitMs, AbortSignal.any([run.stopping, run.held.signal]))
    }
  }
}

/** Whether an error would come again and again. Locks, time-outs and what the server lacks pass. */
function isRefusal(error: unknown): boolean {
  const kind = classify(error)
  return kind === 'fatal' || kind === 'rows'
}

function unclear({ batch }: BatchRun, cause: unknown): Unclear {
  return new Unclear(`how far batch ${batch.seq} is cannot be told: ${errorRecord(cause).message}`, { cause })
}

/** The lease is left to run out: whoever takes the batch next finds it as it stands. */
function stopAsking(run: BatchRun, error: unknown): 'stopped' {
  const message = `${run.operation.name}: batch ${run.batch.seq} could not be settled: ${errorRecord(error).message}`
  run.telemetry.emit('warning', { message })
  return 'stopped'
}
