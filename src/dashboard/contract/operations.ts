import { transitions, type OperationState } from '../../index.ts'
import { expectedState, name, operationId, reason, span } from '../fields.ts'
import type { Route } from '../route.ts'

const operationStates = Object.keys(transitions) as OperationState[]
const id = { id: operationId }
const named = { name: { ...name, required: true } } as const
const verb = { expectedState: { ...expectedState, enum: operationStates }, reason } as const
const args = { type: 'json', description: 'What the operation is started with, as its schema asks for.' } as const

/** Operations: look, start, stop. */
export const operations = {
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
  'operations.planned': {
    method: 'GET',
    path: '/operations/:id/plan',
    role: 'viewer',
    does: 'What the checks of a start say about an operation that is there. Made at most once a minute, without a dry run.',
    params: id,
    once: true,
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
    does: 'What a start would do; for an admin with a dry run that is rolled back, which shows rows of the table.',
    body: { ...named, args },
  },
  'operations.start': {
    method: 'POST',
    path: '/start',
    role: 'admin',
    does: 'Starts an operation.',
    body: { ...named, args, force: { type: 'boolean', description: 'Although the plan says not to.' }, reason },
  },
  'samples.operation': {
    method: 'GET',
    path: '/samples/operations/:id',
    role: 'viewer',
    does: 'What an operation did over time.',
    params: id,
    query: { within: span },
  },
} as const satisfies Record<string, Route>
