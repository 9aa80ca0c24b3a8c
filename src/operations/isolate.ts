import type { ErrorRecord } from '../std/error-record.ts'
import { trip } from '../store/lifecycle.ts'
import { about, lost, recordOf, warn, type BatchRun, type Begun, type Next } from './batch-run.ts'
import { fingerprintOf } from './breaker.ts'

/** Deaths of workers on the same rows after which these are left alone. */
const maxCrashes = 3

/** Isolates the row on which a sub-batch of one fails, and goes on after it. */
export async function isolateRow(run: BatchRun, begun: Begun, error: unknown): Promise<Next> {
  return isolateWindow(run, begun, { error: recordOf(run, error), size: 1 })
}

/** Isolates the rows at the head of a batch on which workers died again and again. */
export async function isolateCrashed(run: BatchRun, begun: Begun): Promise<Next> {
  // Rows in quarantine are passed over, of which nobody dies.
  if (run.batch.crashes < maxCrashes || begun.position.quarantined !== undefined) return 'on'
  const message = `the worker died ${run.batch.crashes} times on these rows`
  const size = begun.sizes.ofCrash(run.batch.crashes)
  return isolateWindow(run, begun, { error: { name: 'WorkerDied', message }, size })
}

async function isolateWindow(
  run: BatchRun,
  { work, position, failures }: Begun,
  { error, size }: { error: ErrorRecord; size: number },
): Promise<Next> {
  const fingerprint = fingerprintOf(error)
  try {
    const rest = { lower: position.at, upper: position.end }
    const found = await run.target.windows.next(work, { ...rest, size, plain: true })
    const outcome = await run.target.quarantine(work, { ...found, error, fingerprint })
    if (outcome.kind === 'failed') throw outcome.error
    if (outcome.kind === 'lost') return (lost(run, 'sub-batch'), 'over')
    // The batch is given back and tried again.
    if (outcome.kind !== 'committed') return 'give back'
    position.pass(found.window.upper)
    failures.forget()
    run.held.progress()
    run.telemetry.emit('batch.quarantined', { ...about(run), rows: found.rows, error, fingerprint })
    const reason = run.outcomes.isolated(fingerprint) ?? overLimit(outcome)
    return reason === undefined ? 'on' : await stopOperation(run, `${reason}: ${error.message}`)
  } catch (again) {
    // The same; what was isolated, if it was, is before the checkpoint.
    warn(run, 'could not isolate a row', again)
    return 'give back'
  }
}

function overLimit({ total, quarantine_limit }: { total: number; quarantine_limit: number }): string | undefined {
  return total > quarantine_limit ? `more than ${quarantine_limit} rows had to be isolated` : undefined
}

/** The circuit breaker: the operation waits for a person, with the reason, and goes on where it stands. */
async function stopOperation(run: BatchRun, reason: string): Promise<'give back'> {
  const [stopped] = await trip(run.database.control, { ...run.held, reason })
  const { id: operationId, name } = run.operation
  if (stopped !== undefined) run.telemetry.emit('operation.paused', { operationId, name, reason, actor: null })
  return 'give back'
}
