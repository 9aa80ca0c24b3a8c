/**
 * The contract between the dashboard's pages and its server: for each route the method, the role that it takes, what
 * it is given and what it answers. The server registers its routes from this table, checks roles and input by it, and
 * makes the OpenAPI document of it; the pages know nothing else. What is not here does not exist.
 */
import { batchStates, endedJobStates, liveJobStates, transitions, type OperationState } from '../index.ts'
import { before, expectedState, limit, name, operationId, reason, span, wholeId } from './fields.ts'
import type { Role } from './roles.ts'
import type { Fields, InputOf } from './shape.ts'

/** One route. */
export interface Route {
  readonly method: 'GET' | 'POST'
  /** Below `/api`; `:name` is a field of `params`. */
  readonly path: string
  readonly role: Role
  readonly does: string
  readonly params?: Fields
  readonly query?: Fields
  readonly body?: Fields
}

const operationStates = Object.keys(transitions) as OperationState[]
const seen = { ...expectedState, enum: operationStates } as const
const id = { id: operationId }
const jobId = { id: wholeId }
const named = { name: { ...name, required: true } } as const
const verb = { expectedState: seen, reason } as const
const jobStates = [...liveJobStates, ...endedJobStates] as const
const jobVerb = {
  expectedState: { ...expectedState, enum: jobStates },
  reason,
} as const
const jobQuery = {
  states: { type: 'array', maxItems: 9, items: { type: 'string', maxLength: 20, enum: jobStates } },
  name,
  queue: name,
  tag: name,
  fingerprint: { type: 'string', maxLength: 32, pattern: '^[0-9a-f]{32}$' },
  within: span,
} as const
const count = { type: 'integer', minimum: 0, maximum: 1_000_000_000 } as const
const args = { type: 'json', description: 'What the operation is started with, as its schema asks for.' } as const

export const contract = {
  session: { method: 'GET', path: '/session', role: 'viewer', does: 'Who you are, and where.' },
  operations: {
    method: 'GET',
    path: '/operations',
    role: 'viewer',
    does: 'Operations: those that are not over, oldest first, then the others, latest first.',
    query: {
      show: { type: 'string', maxLength: 10, enum: ['running', 'waiting', 'stopped', 'failed', 'done', 'all'] },
      name,
      tenant: name,
    },
  },
  'operations.get': { method: 'GET', path: '/operations/:id', role: 'viewer', does: 'One operation.', params: id },
  'operations.records': {
    method: 'GET',
    path: '/operations/:id/records',
    role: 'viewer',
    does: 'Changes of state, batches in key order, and quarantined ranges of an operation.',
    params: id,
  },
  'operations.pause': {
    method: 'POST',
    path: '/operations/:id/pause',
    role: 'operator',
    does: 'Stops an operation after its current sub-batches.',
    params: id,
    body: verb,
  },
  'operations.resume': {
    method: 'POST',
    path: '/operations/:id/resume',
    role: 'operator',
    does: 'Lets an operation go on.',
    params: id,
    body: verb,
  },
  'operations.cancel': {
    method: 'POST',
    path: '/operations/:id/cancel',
    role: 'operator',
    does: 'Ends an operation without finishing it.',
    params: id,
    body: verb,
  },
  'operations.approve': {
    method: 'POST',
    path: '/operations/:id/approve',
    role: 'admin',
    does: 'Lets an operation begin that waits for approval.',
    params: id,
    body: verb,
  },
  'operations.retry': {
    method: 'POST',
    path: '/operations/:id/retry',
    role: 'operator',
    does: 'Takes up quarantined rows and failed ranges again.',
    params: id,
    body: verb,
  },
  'operations.set': {
    method: 'POST',
    path: '/operations/:id/set',
    role: 'operator',
    does: 'Changes limits of an operation while it runs.',
    params: id,
    body: {
      ...verb,
      lanes: { type: 'integer', minimum: 1, maximum: 64 },
      pace: { type: 'number', minimum: 0.01, maximum: 1 },
      subBatchSize: { type: 'integer', minimum: 1, maximum: 10_000_000 },
      priority: { type: 'string', maxLength: 10, enum: ['low', 'normal', 'high'] },
      window: { type: 'string', maxLength: 200, description: 'Empty: at any time.' },
    },
  },
  definitions: {
    method: 'GET',
    path: '/definitions',
    role: 'viewer',
    does: 'The operations that can be started here.',
  },
  'operations.plan': {
    method: 'POST',
    path: '/plan',
    role: 'operator',
    does: 'What a start would do, with a dry run that is rolled back.',
    body: { ...named, args },
  },
  'operations.start': {
    method: 'POST',
    path: '/start',
    role: 'admin',
    does: 'Starts an operation.',
    body: { ...named, args, force: { type: 'boolean', description: 'Although the plan says not to.' } },
  },
  jobs: {
    method: 'GET',
    path: '/jobs',
    role: 'viewer',
    does: 'Jobs, latest first, a page at a time.',
    query: { ...jobQuery, before, limit },
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
  failures: { method: 'GET', path: '/failed', role: 'viewer', does: 'Failed jobs in groups of the same failure.' },
  'failures.act': {
    method: 'POST',
    path: '/failed/:fingerprint',
    role: 'operator',
    does: 'Retries or discards all jobs of a group, in the background.',
    params: { fingerprint: { type: 'string', maxLength: 32, pattern: '^[0-9a-f]{32}$', required: true } },
    body: {
      action: { type: 'string', maxLength: 10, enum: ['retry', 'discard'], required: true },
      expectedJobs: { ...count, required: true, description: 'How many jobs the page shows.' },
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
  schedules: {
    method: 'GET',
    path: '/schedules',
    role: 'viewer',
    does: 'The schedules with their last and next runs.',
  },
  'schedules.run': {
    method: 'POST',
    path: '/schedules/:name/run',
    role: 'operator',
    does: 'Starts a run now.',
    params: named,
    body: { reason },
  },
  'schedules.enable': {
    method: 'POST',
    path: '/schedules/:name/enable',
    role: 'operator',
    does: 'Lets a schedule go on.',
    params: named,
    body: { expectedState: { ...expectedState, enum: ['enabled', 'disabled'] }, reason },
  },
  'schedules.disable': {
    method: 'POST',
    path: '/schedules/:name/disable',
    role: 'operator',
    does: 'Stops a schedule.',
    params: named,
    body: { expectedState: { ...expectedState, enum: ['enabled', 'disabled'] }, reason },
  },
  machines: { method: 'GET', path: '/machines', role: 'viewer', does: 'The machines with their rows by state.' },
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
  'samples.operation': {
    method: 'GET',
    path: '/samples/operations/:id',
    role: 'viewer',
    does: 'What an operation did over time.',
    params: id,
    query: { within: span },
  },
  'samples.queues': {
    method: 'GET',
    path: '/samples/queues',
    role: 'viewer',
    does: 'What came into the queues, went out and waited, over time.',
    query: { queue: name, within: span },
  },
  'samples.signals': {
    method: 'GET',
    path: '/samples/signals',
    role: 'viewer',
    does: 'The health signals of the database over time, with their limits.',
    query: { within: span },
  },
  audit: {
    method: 'GET',
    path: '/audit',
    role: 'viewer',
    does: 'Who did what, latest first, a page at a time.',
    query: { actor: name, action: name, target: name, before, limit },
  },
  workers: { method: 'GET', path: '/workers', role: 'viewer', does: 'The workers that are there.' },
  health: {
    method: 'GET',
    path: '/health',
    role: 'viewer',
    does: 'What commonly goes wrong, each finding with its remedy.',
  },
  about: { method: 'GET', path: '/about', role: 'viewer', does: 'Versions, and what this server can do.' },
} as const satisfies Record<string, Route>

/** The name of a route. */
export type RouteName = keyof typeof contract

type FieldsOf<R, Part extends string> = R extends { readonly [K in Part]: infer F } ? InputOf<F> : unknown

/** What a route is given, checked: its params, query and body in one. */
export type RouteInput<N extends RouteName> = FieldsOf<(typeof contract)[N], 'params'> &
  FieldsOf<(typeof contract)[N], 'query'> &
  FieldsOf<(typeof contract)[N], 'body'>
