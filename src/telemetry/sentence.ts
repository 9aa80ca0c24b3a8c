import { formatDuration } from '../std/duration.ts'
import type { Events } from './events.ts'
import type { AnyEvent } from './telemetry.ts'

const count = (n: number): string => n.toLocaleString('en-US')

const by = (actor: string | null): string => (actor === null ? '' : ` (${actor})`)

const missed = (n: number): string => (n === 0 ? '' : ` (${count(n)} ${n === 1 ? 'tick' : 'ticks'} before it missed)`)

/** What a worker can do, without what every worker can. */
function skillsOf({ operations, jobs, sweeps, schedules, reconcilers }: Events['worker.started']): string[] {
  const own = jobs.filter((name) => !name.startsWith('sluice.'))
  return [...new Set([...operations, ...own, ...sweeps, ...schedules, ...reconcilers])]
}

/** An event as one short line for a person. */
export function describeEvent({ event, payload: p }: AnyEvent): string {
  switch (event) {
    case 'worker.started':
      return `worker ${p.workerId} (pid ${p.pid}) takes work for ${skillsOf(p).join(', ') || 'nothing: the configuration lists none'}`
    case 'worker.untrusted':
      return `no lease renewal for ${formatDuration(p.sinceMs)}; waiting before any new sub-batch`
    case 'worker.draining':
      return `worker ${p.workerId} was asked to end: it takes no new work`
    case 'worker.stopped':
      return `worker ${p.workerId} stopped`
    case 'operation.started':
      return p.duplicate
        ? `${p.name} is already unfinished as ${p.operationId}; nothing new was started`
        : `${p.name} started on ${p.table} as ${p.operationId}${by(p.forced)}`
    case 'operation.held':
      return `${p.name} is held until ${p.until.toISOString()}: ${p.reason}`
    case 'operation.limited':
      return p.reason === null
        ? `${p.name} goes at full pace`
        : `${p.name} goes at ${Math.round(p.share * 100)} % of its pace: ${p.reason}`
    case 'probe.blind':
      return `the signal ${p.probe} does not count: ${p.reason}. To let it: ${p.remedy}`
    case 'operation.paused':
      return `${p.name} stops${by(p.actor)}: ${p.reason ?? 'paused'}`
    case 'operation.resumed':
      return `${p.name} goes on${by(p.actor)}`
    case 'operation.approved':
      return `${p.name} may begin${by(p.actor)}`
    case 'operation.retried':
      return `${p.name} takes up ${count(p.ranges)} ranges again${by(p.actor)}`
    case 'operation.changed':
      return `${p.name} has new limits${by(p.actor)}: ${JSON.stringify(p.limits)}`
    case 'operation.cancelled':
      return `${p.name} is cancelled`
    case 'operation.verifying':
      return `${p.name} looks for rows in scope that it did not meet`
    case 'operations.disabled':
      return `no operation works any more${by(p.actor)}: ${p.reason ?? 'no reason given'}`
    case 'operations.enabled':
      return `operations may work again${by(p.actor)}`
    case 'operation.disabled':
      return `${p.name} may not run any more${by(p.actor)}: ${p.reason ?? 'no reason given'}`
    case 'operation.enabled':
      return `${p.name} may run again${by(p.actor)}`
    case 'operation.finished':
      return `${p.name} finished: ${count(p.rowsChanged)} of ${count(p.rowsSeen)} rows changed in ${formatDuration(p.elapsedMs)}`
    case 'operation.failed':
      return `${p.name} failed: ${p.error.message}`
    case 'batch.started':
      return `${p.name} batch ${p.batch} ${p.resumed ? 'taken over at its checkpoint' : 'started'}`
    case 'batch.finished':
      return `${p.name} batch ${p.batch} finished: ${count(p.rowsChanged)} of ${count(p.rowsSeen)} rows changed in ${formatDuration(p.busyMs)}`
    case 'batch.retried':
      return `${p.name} batch ${p.batch} goes on in ${formatDuration(p.waitMs)} after: ${p.error.message}`
    case 'batch.released':
      return `${p.name} batch ${p.batch} given back at its checkpoint`
    case 'batch.lost':
      return `${p.name} batch ${p.batch} belongs to another worker now; nothing of it was committed here (${p.at})`
    case 'batch.quarantined':
      return `${p.name} batch ${p.batch}: ${count(p.rows)} ${p.rows === 1 ? 'row' : 'rows'} isolated: ${p.error.message}`
    case 'batch.rescued':
      return `batch ${p.batchId} is free again: the lease of worker ${p.workerId ?? 'unknown'} ran out`
    case 'sub-batch.committed':
      return `${p.name} batch ${p.batch}: ${count(p.rowsChanged)} of ${count(p.rowsSeen)} rows in ${formatDuration(p.elapsedMs)}`
    case 'sub-batch.doubted':
      return `${p.name} batch ${p.batch}: the answer to COMMIT was lost; ${p.outcome === 'told by the rows' ? 'the rows themselves tell what is done' : `the claim row says ${p.outcome}`}`
    case 'alert.fired':
      return `alert: ${p.message}`
    case 'alert.cleared':
      return `alert over after ${formatDuration(p.afterMs)}: ${p.rule} of ${p.subject}`
    case 'jobs.enqueued':
      return `${count(p.count)} ${p.name} enqueued${p.duplicates === 0 ? '' : `, ${count(p.duplicates)} were there already`}`
    case 'job.started':
      return `${p.name} ${p.jobId} started, attempt ${p.attempt}, after waiting ${formatDuration(p.waitMs)}`
    case 'job.finished':
      return `${p.name} ${p.jobId} finished in ${formatDuration(p.runMs)}`
    case 'job.left':
      return `${p.name} ${p.jobId} left: ${p.reason}`
    case 'job.retried':
      return `${p.name} ${p.jobId} failed (${p.reason}), again in ${formatDuration(p.delayMs)}: ${p.error.message}`
    case 'job.snoozed':
      return `${p.name} ${p.jobId} comes again in ${formatDuration(p.delayMs)}: ${p.reason}`
    case 'job.discarded':
      return `${p.name} ${p.jobId} is discarded: ${p.reason}`
    case 'job.died':
      return `${p.name} ${p.jobId} is dead (${p.reason}): ${p.error?.message ?? 'no error'}`
    case 'job.cancelled':
      return `${p.name} ${p.jobId} is cancelled: ${p.reason}`
    case 'job.quarantined':
      return `${p.name} ${p.jobId} is isolated: ${p.reason}`
    case 'job.released':
      return `${p.name} ${p.jobId} given back`
    case 'job.lost':
      return `${p.name} ${p.jobId} belongs to another worker now; its end was not written here`
    case 'job.rescued':
      return `${p.name} ${p.jobId} is free again: worker ${p.workerId} gave no sign of life`
    case 'job.logged':
      return `${p.name} ${p.jobId}: ${p.message}`
    case 'reconciler.finished':
      return `${p.name} found ${count(p.found)}, enqueued ${count(p.enqueued)} (${count(p.duplicates)} were there already${p.refused === 0 ? '' : `, ${count(p.refused)} refused`}) in ${formatDuration(p.elapsedMs)}`
    case 'reconciler.failed':
      return `${p.name} broke off: ${p.error.message}`
    case 'inbox.received':
      return `${p.inbox} received ${p.key}`
    case 'inbox.duplicate':
      return `${p.inbox} received ${p.key} again; nothing to do`
    case 'inbox.differed':
      return `${p.inbox} received ${p.key} again with another payload; the first one counts`
    case 'inbox.processed':
      return `${p.inbox} processed ${p.key} by job ${p.jobId}`
    case 'inbox.failed':
      return `${p.inbox} message ${p.messageId} failed: see job ${p.jobId ?? 'unknown'}`
    case 'inbox.healed':
      return `${p.inbox}: ${count(p.messages)} messages had lost their jobs and got new ones`
    case 'inbox.refused':
      return `${p.inbox} refused a request with ${p.status}: ${p.error.message}`
    case 'job-batch.opened':
      return `batch of jobs ${p.batchId} opened${p.description === null ? '' : `: ${p.description}`}`
    case 'job-batch.sealed':
      return `batch of jobs ${p.batchId} sealed with ${count(p.total)} members`
    case 'job-batch.called':
      return `batch of jobs ${p.batchId}: its ${p.kind} callback is job ${p.jobId}`
    case 'job-batch.finished':
      return `batch of jobs ${p.batchId} ${p.state}: ${count(p.succeeded)} of ${count(p.total)} members succeeded`
    case 'job-batch.cancelled':
      return `batch of jobs ${p.batchId} is cancelled: ${p.reason}`
    case 'job-batch.reopened':
      return `batch of jobs ${p.batchId} is not over any more: a member was taken up again`
    case 'job-batch.mended':
      return `batch of jobs ${p.batchId} was counted anew: ${count(p.succeeded)} of ${count(p.total)} members succeeded, ${count(p.failed)} did not`
    case 'queue.paused':
      return `queue ${p.queue} is paused${by(p.actor)}`
    case 'queue.resumed':
      return `queue ${p.queue} goes on${by(p.actor)}`
    case 'schedule.ticked':
      return `${p.schedule} ${p.actor === null ? `ticked at ${p.tick.toISOString()}` : `was run now${by(p.actor)}`}: ${p.jobId === null ? `operation ${p.operationId}` : `job ${p.jobId}`}${missed(p.missed)}`
    case 'schedule.skipped':
      return `${p.schedule} skipped its tick at ${p.tick.toISOString()}: ${p.reason}${missed(p.missed)}`
    case 'schedule.failed':
      return `${p.schedule} could not start anything for its tick at ${p.tick.toISOString()}: ${p.reason}`
    case 'schedule.disabled':
      return `schedule ${p.schedule} is disabled${by(p.actor)}: ${p.reason ?? 'no reason given'}`
    case 'schedule.enabled':
      return `schedule ${p.schedule} is enabled${by(p.actor)}`
    case 'sweep.claimed':
      return `${p.name} claimed ${count(p.count)} rows`
    case 'sweep.finalised':
      return `${p.name} finalised ${count(p.count)} rows${p.zeroed === 0 ? '' : `; ${count(p.zeroed)} counts are zero now`}`
    case 'sweep.failed':
      return `${p.name} (${p.key.join(', ')}) failed, attempt ${p.attempt}, again in ${formatDuration(p.delayMs)}: ${p.error.message}`
    case 'sweep.quarantined':
      return `${p.name} (${p.key.join(', ')}) is isolated: ${p.error.message}`
    case 'sweep.rescued':
      return `${p.name} took over ${count(p.count)} rows: worker ${p.workerIds.join(', ')} gave no sign of life`
    case 'sweep.lost':
      return `${p.name}: ${count(p.count)} rows belong to another worker now, or are done; nothing of them was committed here`
    case 'sweep.spared':
      return `${p.name} left ${count(p.count)} rows as they are: ${p.reason}`
    case 'sweep.released':
      return `${p.name} gave ${count(p.count)} rows back`
    case 'sweep.held':
      return `${p.name} is held for ${formatDuration(p.forMs)}: ${p.reason}`
    case 'sweep.drained':
      return `${p.name} has nothing more to do, after ${count(p.rows)} rows`
    case 'connection.lost':
      return `database unreachable (${p.purpose}): ${p.error.message}; trying again in ${formatDuration(p.waitMs)}`
    case 'connection.restored':
      return `database reachable again (${p.purpose}) after ${formatDuration(p.afterMs)}`
    case 'replica.used':
      return 'looks ahead go to the replica'
    case 'replica.skipped':
      return `looks ahead go to the primary, not to the replica: ${p.reason}`
    case 'schema.migrated':
      if (p.from === p.to) return `functions of the schema replaced, at version ${p.to}`
      return `schema migrated from version ${p.from} to ${p.to}`
    case 'warning':
      return p.message
  }
}
