import { errorRecord, type ErrorRecord } from '../../std/error-record.ts'
import type { ClaimedRow, Place } from './place.ts'

/** `stopped`: the worker had to end before it was over; whether it took effect is not known. */
export type EffectOutcome = { kind: 'done' } | { kind: 'failed'; error: ErrorRecord } | { kind: 'stopped' }

/** The effect took longer than it may. */
class EffectTimeout extends Error {
  override readonly name = 'EffectTimeout'
}

/**
 * Has the effect of one row, outside of any transaction. Never throws, and never takes much longer than the limit: a
 * call that does not heed its signal is left to itself. While it runs, what can stop it is in `running`.
 */
export async function haveEffect(
  { definition, shift }: Place,
  claimed: ClaimedRow,
  running: Set<AbortController>,
): Promise<EffectOutcome> {
  const { effect, name, timeoutMs } = definition
  const unfit = claimed.unclaimed ?? claimed.unreadable
  if (unfit !== undefined) return { kind: 'failed', error: unfit }
  if (effect === undefined) return { kind: 'done' }
  const stop = new AbortController()
  const late = new EffectTimeout(`The effect took longer than ${timeoutMs} ms.`)
  const timer = setTimeout(() => stop.abort(late), timeoutMs)
  running.add(stop)
  const { row, version, generation, attempts } = claimed
  const context = {
    row,
    version,
    attempt: attempts + 1,
    signal: stop.signal,
    idempotencyKey: `${name}/${generation}`,
  }
  const given = (async () => effect(context))()
  try {
    await Promise.race([given, aborted(stop.signal)])
    return { kind: 'done' }
  } catch (error) {
    given.catch(() => undefined)
    if (shift.ending.aborted) return { kind: 'stopped' }
    return { kind: 'failed', error: errorRecord(stop.signal.aborted ? stop.signal.reason : error) }
  } finally {
    clearTimeout(timer)
    running.delete(stop)
  }
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true })
  })
}
