import type { Configuration, SystemName } from './job-system.ts'

/** The settings on graphile-worker's own performance page. */
export const graphilePublished = graphile('c24, queue 500, delay 0 ms', {
  concurrentJobs: 24,
  maxPoolSize: 25,
  localQueue: { size: 500 },
  completeJobBatchDelay: 0,
  failJobBatchDelay: 0,
})

/** The settings that one gets without asking. */
export const graphileDefault = graphile('default', {})

/** Enqueueing knows nothing of a worker's settings. */
export const graphileProducer = graphile('pool of 25', { maxPoolSize: 25 })

/** What a short run takes for the best, because it has no time for a sweep. */
export const knownBest = {
  graphile: graphileTuned(200, 5_000, 5),
  'pg-boss': pgBoss(5_000, 2),
  bullmq: bullmq(50),
} satisfies Partial<Record<SystemName, Configuration>>

/** What the peers' settings are swept over. */
export const sweptConfigurations: Configuration[] = [
  graphilePublished,
  knownBest.graphile,
  graphileTuned(200, 2_000, 5),
  graphileTuned(200, 10_000, 5),
  knownBest['pg-boss'],
  pgBoss(5_000, 1),
  pgBoss(1_000, 2),
  pgBoss(1_000, 4),
  knownBest.bullmq,
  bullmq(200),
]

/** One job at a time, woken by NOTIFY: as quick as pg-boss gets for a single job. */
export const pgBossNotified: Configuration = {
  system: 'pg-boss',
  name: 'pg-boss: default, LISTEN/NOTIFY',
  options: { batchSize: 1, localConcurrency: 1 },
}

export const sluice: Configuration = { system: 'sluice', name: 'Sluice', options: { concurrency: 200 } }

export const insertNotifying = insert('one INSERT per call, 16 connections, NOTIFY', true)
export const insertSilent = insert('one INSERT per call, 16 connections', false)

function graphile(name: string, options: Record<string, unknown>): Configuration {
  return { system: 'graphile', name: `graphile-worker: ${name}`, options }
}

function graphileTuned(concurrentJobs: number, size: number, delayMs: number): Configuration {
  return graphile(`c${concurrentJobs}, queue ${size}, delay ${delayMs} ms`, {
    concurrentJobs,
    maxPoolSize: 25,
    localQueue: { size },
    completeJobBatchDelay: delayMs,
    failJobBatchDelay: delayMs,
  })
}

function pgBoss(batchSize: number, workers: number): Configuration {
  return {
    system: 'pg-boss',
    name: `pg-boss: batch ${batchSize}, ${workers} worker${workers === 1 ? '' : 's'}, burst`,
    options: { batchSize, localConcurrency: workers, burstWhenBatchFull: true },
  }
}

function bullmq(concurrency: number): Configuration {
  return { system: 'bullmq', name: `BullMQ: c${concurrency}`, options: { concurrency } }
}

function insert(name: string, notify: boolean): Configuration {
  return { system: 'insert', name, options: { notify } }
}
