import { batchStates, endedJobStates, liveJobStates } from '../../index.ts'
import { before, expectedState, limit, name, reason, span, wholeId } from '../fields.ts'
import type { Route } from '../route.ts'

const jobId = { id: wholeId }
const named = { name: { ...name, required: true } } as const
const jobStates = [...liveJobStates, ...endedJobStates] as const
const jobVerb = {
  expectedState: { ...expectedState, enum: jobStates },
  reason,
} as const
const fingerprint = { type: 'string', maxLength: 32, pattern: '^[0-9a-f]{32}$' } as const
const jobQuery = {
  states: { type: 'array', maxItems: 9, items: { type: 'string', maxLength: 20, enum: jobStates } },
  name,
  queue: name,
  tag: name,
  arg: {
    type: 'string',
    maxLength: 2_200,
    pattern: '^[^=]+=',
    description: 'Only those of a name whose args have this, such as `customerId=7`.',
  },
  fingerprint,
  within: span,
} as const
const count = { type: 'integer', minimum: 0, maximum: 1_000_000_000 } as const

/** Jobs, what failed of them, their queues and their batches. */
export const jobs = {
  jobs: {
    method: 'GET',
    path: '/jobs',
    role: 'viewer',
    does: 'Jobs, latest first, a page at a time.',
    query: { ...jobQuery, before, limit },
  },
  'jobs.count': {
    method: 'GET',
    path: '/jobs/count',
    role: 'viewer',
    does: 'How many jobs there are, counted up to ten thousand.',
    query: jobQuery,
  },
  'jobs.get': { method: 'GET', path: '/jobs/:id', role: 'viewer', does: 'One job with its attempts.', params: jobId },
  'jobs.retry': {
    method: 'POST',
    path: '/jobs/:id/retry',
    role: 'operator',
    does: 'Takes up a job again.',
    params: jobId,
    body: jobVerb,
  },
  'jobs.run': {
    method: 'POST',
    path: '/jobs/:id/run',
    role: 'operator',
    does: 'Lets a scheduled job run now.',
    params: jobId,
    body: jobVerb,
  },
  'jobs.cancel': {
    method: 'POST',
    path: '/jobs/:id/cancel',
    role: 'operator',
    does: 'Ends a job.',
    params: jobId,
    body: jobVerb,
  },
  'jobs.discard': {
    method: 'POST',
    path: '/jobs/:id/discard',
    role: 'operator',
    does: 'Ends a job that nobody runs.',
    params: jobId,
    body: jobVerb,
  },
  'jobs.bulk': {
    method: 'POST',
    path: '/jobs/bulk',
    role: 'operator',
    does: 'Does the same to chosen jobs, in the background; to those that are in the state in which you have seen them.',
    body: {
      action: { type: 'string', maxLength: 10, enum: ['retry', 'run', 'cancel', 'discard'], required: true },
      ids: { type: 'array', maxItems: 200, items: wholeId, required: true },
      expectedStates: {
        type: 'array',
        maxItems: 9,
        items: { type: 'string', maxLength: 20, enum: jobStates },
        required: true,
        description: 'The states in which you have seen them. Nothing is done to a job in another one.',
      },
      reason,
    },
  },
  'jobs.bulkMatching': {
    method: 'POST',
    path: '/jobs/bulk/matching',
    role: 'operator',
    does: 'Does the same to all jobs that match, in the background, when its turn comes.',
    body: {
      action: { type: 'string', maxLength: 10, enum: ['retry', 'run', 'cancel', 'discard'], required: true },
      ...jobQuery,
      states: { ...jobQuery.states, required: true },
      reason,
    },
  },
  failures: { method: 'GET', path: '/failed', role: 'viewer', does: 'Failed jobs in groups of the same failure.' },
  'failures.act': {
    method: 'POST',
    path: '/failed/:fingerprint',
    role: 'operator',
    does: 'Retries or discards all jobs of a group, in the background.',
    params: { fingerprint: { ...fingerprint, required: true } },
    body: {
      action: { type: 'string', maxLength: 10, enum: ['retry', 'discard'], required: true },
      expectedJobs: { ...count, required: true, description: 'How many jobs the page shows.' },
      reason,
    },
  },
  'failures.bulk': {
    method: 'POST',
    path: '/failed',
    role: 'operator',
    does: 'Retries or discards all jobs of some groups, in the background.',
    body: {
      action: { type: 'string', maxLength: 10, enum: ['retry', 'discard'], required: true },
      fingerprints: { type: 'array', maxItems: 200, items: fingerprint, required: true },
      expectedJobs: { ...count, required: true, description: 'How many jobs the page shows in all of them.' },
      reason,
    },
  },
  queues: { method: 'GET', path: '/queues', role: 'viewer', does: 'The queues with what waits in them.' },
  'queues.pause': {
    method: 'POST',
    path: '/queues/:name/pause',
    role: 'operator',
    does: 'Lets no job of a queue start.',
    params: named,
    body: { expectedState: { ...expectedState, enum: ['open', 'paused'] }, reason },
  },
  'queues.resume': {
    method: 'POST',
    path: '/queues/:name/resume',
    role: 'operator',
    does: 'Lets jobs of a queue start again.',
    params: named,
    body: { expectedState: { ...expectedState, enum: ['open', 'paused'] }, reason },
  },
  'queues.limit': {
    method: 'POST',
    path: '/queues/:name/limit',
    role: 'operator',
    does: 'Lets at most so many jobs of a queue start per time; without a limit: as many as there are.',
    params: named,
    body: { limit: { type: 'integer', minimum: 1, maximum: 1_000_000 }, per: span, reason },
  },
  batches: {
    method: 'GET',
    path: '/batches',
    role: 'viewer',
    does: 'Batches of jobs, latest first, a page at a time.',
    query: {
      states: { type: 'array', maxItems: 6, items: { type: 'string', maxLength: 20, enum: batchStates } },
      before,
      limit,
    },
  },
  'batches.get': { method: 'GET', path: '/batches/:id', role: 'viewer', does: 'One batch of jobs.', params: jobId },
  'batches.cancel': {
    method: 'POST',
    path: '/batches/:id/cancel',
    role: 'operator',
    does: 'Ends what is left of a batch of jobs.',
    params: jobId,
    body: { expectedState: { ...expectedState, enum: batchStates }, reason },
  },
  'samples.queues': {
    method: 'GET',
    path: '/samples/queues',
    role: 'viewer',
    does: 'What came into the queues, went out and waited, over time.',
    query: { queue: name, within: span },
  },
} as const satisfies Record<string, Route>
