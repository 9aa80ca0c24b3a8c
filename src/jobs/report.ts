import type { Telemetry } from '../telemetry/telemetry.ts'
import type { Attempt } from './attempt.ts'
import type { Ending } from './ending.ts'

/** Says how an attempt ended, once that is written down; without an ending, its claim was lost. */
export function reportEnding(telemetry: Telemetry, of: Attempt, ending: Ending | undefined): void {
  const { waitMs, queue } = of
  const { id: jobId, attempt } = of.job
  const { name } = of.definition
  if (ending === undefined) return telemetry.emit('job.lost', { jobId, name })
  if (ending.kind === 'completed') {
    if (ending.left !== undefined) telemetry.emit('job.left', { jobId, name, reason: ending.left })
    telemetry.emit('job.finished', { jobId, name, queue, attempt, waitMs, runMs: ending.runMs })
    return
  }
  const about = { jobId, name, queue }
  if (ending.kind === 'postponed') {
    const { verdict, reason, delayMs, error } = ending
    if (verdict === 'release') telemetry.emit('job.released', about)
    else if (error === null) telemetry.emit('job.snoozed', { ...about, reason, delayMs })
    else telemetry.emit('job.retried', { ...about, reason, delayMs, error, attempt })
  } else {
    const { outcome, reason, error } = ending
    if (outcome === 'cancelled') telemetry.emit('job.cancelled', { ...about, reason })
    else telemetry.emit(names[outcome], { ...about, reason, error })
  }
}

const names = { dead: 'job.died', discarded: 'job.discarded', quarantined: 'job.quarantined' } as const
