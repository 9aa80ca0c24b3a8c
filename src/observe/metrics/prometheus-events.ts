import type * as prom from 'prom-client'
import type { EventName, Events } from '../../telemetry/events.ts'
import type { AnyEvent } from '../../telemetry/telemetry.ts'
import type { Labels } from './labels.ts'

/** From milliseconds to hours: a queue may be quick or overnight. */
const waits = [0.005, 0.02, 0.1, 0.5, 1, 5, 15, 60, 300, 900, 3_600, 14_400]
const runs = [0.005, 0.02, 0.1, 0.5, 1, 5, 15, 60, 300, 900, 3_600]
const subBatches = [0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5]

type Followers = { readonly [N in EventName]?: (payload: Events[N]) => void }

/** Metrics that follow the events of this process. */
export function eventMetrics(
  client: typeof prom,
  register: prom.Registry,
  labels: Labels,
): { names: string[]; note(event: AnyEvent): void } {
  const registers = [register]
  const counter = <L extends string>(name: string, help: string, labelNames: L[]): prom.Counter<L> =>
    new client.Counter({ name, help, labelNames, registers })
  const histogram = <L extends string>(
    name: string,
    help: string,
    { labelNames, buckets }: { labelNames: L[]; buckets: number[] },
  ): prom.Histogram<L> => new client.Histogram({ name, help, labelNames, buckets, registers })
  const made = {
    enqueued: counter('sluice_jobs_enqueued_total', 'Jobs that were enqueued', ['queue', 'job']),
    attempts: counter('sluice_job_attempts_total', 'Attempts by how they ended', ['queue', 'job', 'outcome']),
    wait: histogram('sluice_job_wait_seconds', 'From due to started', { labelNames: ['queue'], buckets: waits }),
    run: histogram('sluice_job_run_seconds', 'How long jobs ran that succeeded', {
      labelNames: ['queue', 'job'],
      buckets: runs,
    }),
    rescued: counter('sluice_jobs_rescued_total', 'Jobs taken over from workers that died', ['job']),
    seen: counter('sluice_operation_rows_seen_total', 'Rows that operations have passed', ['operation']),
    changed: counter('sluice_operation_rows_changed_total', 'Rows that operations have changed', ['operation']),
    batches: counter('sluice_operation_batches_total', 'Batches that were finished', ['operation']),
    subBatch: histogram('sluice_operation_sub_batch_seconds', 'How long sub-batches took', {
      labelNames: ['operation'],
      buckets: subBatches,
    }),
    wal: counter('sluice_operation_wal_bytes_total', 'Log that sub-batches have written', ['operation']),
    quarantined: counter('sluice_operation_quarantined_rows_total', 'Rows that were isolated', ['operation']),
    failed: counter('sluice_operations_failed_total', 'Operations that ended because of an error', ['operation']),
    failures: counter('sluice_operation_failures_total', 'Batches that met an error', ['operation']),
    ticks: counter('sluice_schedule_ticks_total', 'Ticks of schedules by outcome', ['schedule', 'outcome']),
    lost: counter('sluice_connections_lost_total', 'Times that the database could not be reached', ['purpose']),
  }
  const followers = follow(made, labels)
  return {
    names: Object.keys(made).map((key) => nameOf(made[key as keyof typeof made])),
    note: ({ event, payload }) => (followers[event] as ((p: unknown) => void) | undefined)?.(payload),
  }
}

const nameOf = (metric: object): string => (metric as { name: string }).name

type Inc = { inc(labels: Record<string, string>, value?: number): void }
type Observe = { observe(labels: Record<string, string>, value: number): void }
type Made = Record<
  | 'enqueued'
  | 'attempts'
  | 'rescued'
  | 'seen'
  | 'changed'
  | 'batches'
  | 'wal'
  | 'quarantined'
  | 'failed'
  | 'failures'
  | 'ticks'
  | 'lost',
  Inc
> &
  Record<'wait' | 'run' | 'subBatch', Observe>

function follow(made: Made, labels: Labels): Followers {
  const ofQueue = (name: string): string => labels.of('queue', name)
  const ofJob = (name: string): string => labels.of('job', name)
  const operation = ({ name }: { name: string }): { operation: string } => ({ operation: labels.of('operation', name) })
  const ended =
    (outcome: string) =>
    ({ queue, name }: { queue: string; name: string }): void =>
      made.attempts.inc({ queue: ofQueue(queue), job: ofJob(name), outcome })
  const ticked =
    (outcome: string) =>
    ({ schedule }: { schedule: string }): void =>
      made.ticks.inc({ schedule: labels.of('schedule', schedule), outcome })
  return {
    'jobs.enqueued': ({ queue, name, count }) => made.enqueued.inc({ queue: ofQueue(queue), job: ofJob(name) }, count),
    'job.started': ({ queue, waitMs }) => made.wait.observe({ queue: ofQueue(queue) }, waitMs / 1_000),
    'job.finished': (payload) => {
      ended('succeeded')(payload)
      made.run.observe({ queue: ofQueue(payload.queue), job: ofJob(payload.name) }, payload.runMs / 1_000)
    },
    'job.retried': ended('retried'),
    'job.snoozed': ended('snoozed'),
    'job.died': ended('dead'),
    'job.discarded': ended('discarded'),
    'job.cancelled': ended('cancelled'),
    'job.quarantined': ended('quarantined'),
    'job.rescued': ({ name }) => made.rescued.inc({ job: ofJob(name) }),
    'sub-batch.committed': (payload) => {
      made.seen.inc(operation(payload), payload.rowsSeen)
      made.changed.inc(operation(payload), payload.rowsChanged)
      made.wal.inc(operation(payload), Math.max(0, payload.walBytes))
      made.subBatch.observe(operation(payload), payload.elapsedMs / 1_000)
    },
    'operation.failed': (payload) => made.failed.inc(operation(payload)),
    'batch.finished': (payload) => made.batches.inc(operation(payload)),
    'batch.retried': (payload) => made.failures.inc(operation(payload)),
    'batch.quarantined': (payload) => made.quarantined.inc(operation(payload), payload.rows),
    'schedule.ticked': ticked('started'),
    'schedule.skipped': ticked('skipped'),
    'schedule.failed': ticked('failed'),
    'connection.lost': ({ purpose }) => made.lost.inc({ purpose: labels.of('purpose', purpose) }),
  }
}
