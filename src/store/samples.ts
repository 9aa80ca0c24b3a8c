import { statement, type Statement } from './statement.ts'

/** How much time one sample stands for. */
export type Span = '10s' | '1m' | '1h'

/** Which samples: of one queue, operation or signal, or of all (null); of so long before a moment, or before now. */
export interface SampleFilter {
  name: string | null
  withinMs: number
  until: Date | null
  limit: number
}

/** What happened in a queue in the span that begins at `at`. */
export interface QueueSampleRow {
  queue: string
  at: Date
  enqueued: number
  started: number
  finished: number
  /** Attempts that failed, and jobs that ended without success. */
  failed: number
  died: number
  /** Jobs by how long they waited from due to started, and by how long they ran; see `samples/histogram.ts`. */
  wait: number[]
  run: number[]
  /** Jobs that are due and that nobody has taken yet; null: nobody has looked. */
  depth: number | null
  oldestMs: number | null
}

/** What an operation did in the span that begins at `at`. */
export interface OperationSampleRow {
  operationId: string
  name: string
  at: Date
  rowsSeen: number
  rowsChanged: number
  batches: number
  subBatches: number
  quarantined: number
  walBytes: number
  /** Sub-batches by how long they took, and how long their rows were to take. */
  run: number[]
  targetMs: number | null
  /** Rows of a sub-batch. */
  size: number | null
  status: string | null
  lanes: number | null
  /** Share of the time that its lanes may work: by a person, and by the governor; with the signal that limits it. */
  pace: number | null
  share: number | null
  limiter: string | null
  holdMs: number
  /** From 0 to 1, by the estimate at its start; null: unknown. */
  progress: number | null
}

/** A health signal with its limits. */
export interface SignalSample {
  signal: string
  /** The table that it is about; null: the server. */
  table: string | null
  at: Date
  value: number
  soft: number
  hard: number
}

type Reader<R> = Readonly<Record<Span, Statement<SampleFilter, R>>>

const bind = (f: SampleFilter): unknown[] => [f.name, f.withinMs, f.until, f.limit]

const during = `at > coalesce($3::timestamptz, clock_timestamp()) - $2 * interval '1 millisecond'
     and at <= coalesce($3::timestamptz, clock_timestamp())`

/** The latest ones, oldest first. */
const ofQueues = (span: Span): Statement<SampleFilter, QueueSampleRow> =>
  statement(
    'sample.queues',
    `select *
     from (select queue, at, enqueued, started, finished, failed, died, wait::float8[], run::float8[], depth,
         oldest_ms as "oldestMs"
       from sluice.queue_sample_${span}
       where ($1::text is null or queue = $1) and ${during}
       order by at desc, queue
       limit $4) s
     order by at, queue`,
    bind,
  )

const ofOperations = (span: Span): Statement<SampleFilter, OperationSampleRow> =>
  statement(
    'sample.operations',
    `select *
     from (select operation_id as "operationId", at, name, rows_seen as "rowsSeen", rows_changed as "rowsChanged",
         batches, sub_batches as "subBatches", quarantined, wal_bytes as "walBytes", run::float8[],
         target_ms as "targetMs", size, status, lanes, pace, share, limiter, hold_ms as "holdMs", progress
       from sluice.operation_sample_${span}
       where ($1::text is null or operation_id = $1::uuid) and ${during}
       order by at desc, operation_id
       limit $4) s
     order by at, "operationId"`,
    bind,
  )

const ofSignals = (span: Span): Statement<SampleFilter, SignalSample> =>
  statement(
    'sample.signals',
    `select *
     from (select signal, nullif(table_name, '') as "table", at, value, soft, hard
       from sluice.signal_sample_${span}
       where ($1::text is null or signal = $1) and ${during}
       order by at desc, signal, table_name
       limit $4) s
     order by at, signal, "table" nulls first`,
    bind,
  )

const bySpan = <R>(make: (span: Span) => Statement<SampleFilter, R>): Reader<R> => ({
  '10s': make('10s'),
  '1m': make('1m'),
  '1h': make('1h'),
})

export const queueSamples = bySpan(ofQueues)
export const operationSamples = bySpan(ofOperations)
export const signalSamples = bySpan(ofSignals)

/** How long a queue is. */
export interface QueueDepth {
  queue: string
  /** Jobs that are due and that nobody has claimed. */
  depth: number
  /** There are so many that some pages of the table were counted for all. */
  estimated: boolean
  oldest_ms: number | null
}

/** How long all queues are, at a cost that does not grow with them. */
export const queueDepths = statement<void, QueueDepth>(
  'sample.queueDepths',
  `select queue, depth, estimated, oldest_ms
   from sluice.queue_depths()
   order by queue`,
  () => [],
)

/** What a process has counted of an operation, in the words of the table. */
export interface OperationCounts {
  operation_id: string
  name: string
  rows_seen: number
  rows_changed: number
  batches: number
  sub_batches: number
  quarantined: number
  wal_bytes: number
  run: number[]
  size: number | null
  target_ms: number | null
}

/** What a process has counted since the last time; lists by duration as in {@link QueueSampleRow}. */
export interface Counts {
  queues: Omit<QueueSampleRow, 'at' | 'depth' | 'oldestMs'>[]
  operations: OperationCounts[]
  /** The name of the table is empty where a signal is about the server. */
  signals: (Omit<SignalSample, 'at' | 'table'> & { table_name: string })[]
}

/**
 * Writes counts, and takes the gauges if nobody has in this span (`taken`). The same number of the same worker counts
 * once. `workerId` null: a process that only enqueues.
 */
export const writeSamples = statement<
  { workerId: string | null; number: number; counts: Counts },
  { taken: boolean; next_ms: number }
>('sample.write', `select taken, next_ms from sluice.write_samples($1, $2, $3::text::jsonb)`, (p) => [
  p.workerId,
  p.number,
  JSON.stringify(p.counts),
])

/** Makes sure that samples have a partition to go to. */
export const createSamplePartitions = statement<void, { created: number }>(
  'sample.createPartitions',
  `select sluice.create_sample_partitions() as created`,
  () => [],
)

/** Drops what is older than its retention. */
export const dropSamplePartitions = statement<{ keepDays: number }, { dropped: number }>(
  'sample.dropPartitions',
  `select sluice.drop_sample_partitions($1) as dropped`,
  ({ keepDays }) => [keepDays],
)
