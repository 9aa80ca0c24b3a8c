import { before, expectedState, limit, name, operationId, reason, span } from '../fields.ts'
import type { Route } from '../route.ts'

const acts = { actor: name, action: name, target: name } as const
const named = { name: { ...name, required: true } } as const

/** What is around the work: schedules, machines, workers, health, who did what. */
export const place = {
  session: { method: 'GET', path: '/session', role: 'viewer', does: 'Who you are, and where.' },
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
    does: 'Starts a run now. For a schedule of an operation this takes the role admin, as a start does.',
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
    query: { ...acts, before, limit },
  },
  'audit.export': {
    method: 'GET',
    path: '/audit/export',
    role: 'viewer',
    does: 'Who did what, all of it, latest first: CSV, or one JSON object per line.',
    query: { ...acts, format: { type: 'string', maxLength: 4, enum: ['csv', 'json'] } },
    file: 'csv or json',
    once: true,
  },
  workers: { method: 'GET', path: '/workers', role: 'viewer', does: 'The workers that are there.' },
  'workers.drain': {
    method: 'POST',
    path: '/workers/:id/drain',
    role: 'operator',
    does: 'Has a worker take no new work, finish what it runs, and end.',
    params: { id: operationId },
    body: { expectedState: { ...expectedState, enum: ['working', 'draining'] }, reason },
  },
  health: {
    method: 'GET',
    path: '/health',
    role: 'viewer',
    does: 'What commonly goes wrong, each finding with its remedy.',
  },
  about: { method: 'GET', path: '/about', role: 'viewer', does: 'Versions, and what this server can do.' },
} as const satisfies Record<string, Route>
