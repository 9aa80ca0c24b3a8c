import { batchStates, endedJobStates, liveJobStates } from '../../index.ts'
import { errorRecord, percentiles, type Described } from './described.ts'
import { anything, list, moment, nullable, number, object, text, whole, word, yes } from './schema.ts'

const next = nullable(whole)

const status = {
  id: whole,
  name: text,
  queue: text,
  state: word(...liveJobStates, ...endedJobStates),
  parked: yes,
  priority: nullable(word('high', 'normal', 'low')),
  attempt: whole,
  crashes: whole,
  args: nullable(anything),
  tags: list(text),
  traceId: nullable(text),
  key: nullable(text),
  workerId: nullable(text),
  reason: nullable(text),
  error: nullable(errorRecord),
  enqueuedAt: moment,
  runAt: nullable(moment),
  finishedAt: nullable(moment),
  waitMs: nullable(whole),
  runMs: nullable(whole),
}

const attempt = object({
  attempt: whole,
  verdict: text,
  reason: text,
  error: nullable(errorRecord),
  at: moment,
  nextAt: nullable(moment),
  runMs: nullable(whole),
  workerId: nullable(text),
})

const group = object({
  fingerprint: text,
  name: text,
  queue: text,
  state: word('dead', 'discarded', 'cancelled', 'quarantined'),
  jobs: whole,
  error: nullable(errorRecord),
  reason: text,
  firstAt: moment,
  lastAt: moment,
  latestId: whole,
  perHour: list(whole),
})

const queue = object({
  name: text,
  paused: yes,
  pausedBy: nullable(text),
  rate: nullable(object({ limit: whole, perMs: whole })),
  waiting: whole,
  scheduled: whole,
  blocked: whole,
  running: whole,
  parked: whole,
  estimated: yes,
  oldestMs: nullable(whole),
})

const callback = object({
  kind: word('success', 'complete', 'death'),
  name: text,
  jobId: nullable(whole),
  at: nullable(moment),
})

const batchStatus = {
  id: whole,
  parentId: nullable(whole),
  state: word(...batchStates),
  description: nullable(text),
  total: whole,
  waiting: whole,
  succeeded: whole,
  failed: whole,
  callbacks: list(callback),
  reason: nullable(text),
  openedAt: moment,
  sealedAt: nullable(moment),
  finishedAt: nullable(moment),
}
const failures = list(object({ id: whole, name: text, state: text }))
const oneBatch = object({ batch: object({ ...batchStatus, failures }) })

const sample = object({
  queue: text,
  at: moment,
  enqueued: whole,
  started: whole,
  finished: whole,
  failed: whole,
  died: whole,
  depth: nullable(whole),
  oldestMs: nullable(whole),
  wait: percentiles,
  run: percentiles,
})

const job = object({ job: object(status) })
const oneQueue = object({ queue })

/** What the routes about jobs, queues and batches of jobs answer. */
export const jobs = {
  jobs: object({ jobs: list(object({ ...status, verbs: list(text) })), next }),
  'jobs.get': object({ job: object({ ...status, verbs: list(text), attempts: list(attempt) }) }),
  'jobs.retry': job,
  'jobs.run': job,
  'jobs.cancel': job,
  'jobs.discard': job,
  'jobs.count': object({ jobs: whole, more: yes }),
  'jobs.bulk': object({ jobId: whole }),
  'jobs.bulkMatching': object({ jobId: whole }),
  failures: object({ groups: list(group), looked: whole }),
  'failures.act': object({ jobId: whole }),
  'failures.bulk': object({ jobIds: list(whole) }),
  queues: object({ queues: list(queue) }),
  'queues.pause': oneQueue,
  'queues.resume': oneQueue,
  'queues.limit': oneQueue,
  batches: object({ batches: list(object(batchStatus)), next }),
  'batches.get': oneBatch,
  'batches.cancel': oneBatch,
  'samples.queues': object({ samples: list(sample), everyMs: number }),
} satisfies Partial<Described>
