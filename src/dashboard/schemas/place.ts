import { roles } from '../roles.ts'
import type { Described } from './described.ts'
import { anything, either, list, moment, nullable, number, object, optional, text, whole, word, yes } from './schema.ts'

const tick = object({
  schedule: text,
  tick: moment,
  outcome: word('started', 'skipped', 'failed'),
  reason: nullable(text),
  jobId: nullable(whole),
  operationId: nullable(text),
  missed: whole,
  actor: nullable(text),
  settledAt: moment,
})

const scheduleStatus = {
  name: text,
  rule: text,
  zone: text,
  target: object({ kind: word('job', 'operation'), name: text }),
  enabled: yes,
  disabledBy: nullable(text),
  reason: nullable(text),
  missed: text,
  overlap: word('skip', 'queue', 'allow'),
  window: nullable(text),
  delayMs: number,
  deadlineMs: nullable(number),
  nextAt: nullable(moment),
  nextRuns: list(moment),
  parked: yes,
  blockedBy: nullable(object({ kind: word('job', 'operation'), id: either(whole, text), since: nullable(moment) })),
  lastTick: nullable(tick),
  createdAt: moment,
  asOf: moment,
}
const schedule = object({ schedule: object(scheduleStatus) })

const machine = object({
  name: text,
  table: text,
  counted: word('exact', 'bounded', 'estimate'),
  states: list(object({ state: text, rows: whole, to: list(text) })),
  unknown: list(object({ state: text, rows: whole })),
  graph: text,
  problem: nullable(text),
})

const signal = object({
  signal: text,
  table: nullable(text),
  at: moment,
  value: number,
  soft: number,
  hard: number,
})

const act = object({
  id: whole,
  at: moment,
  actor: nullable(text),
  source: word('api', 'cli', 'dashboard', 'schedule'),
  action: text,
  target: text,
  before: nullable(anything),
  after: nullable(anything),
  reason: nullable(text),
})

const worker = object({
  id: text,
  host: text,
  pid: whole,
  version: text,
  operations: list(text),
  jobs: list(text),
  sweeps: list(text),
  queues: list(text),
  concurrency: whole,
  running: whole,
  batches: whole,
  rows: whole,
  works_on: list(object({ kind: word('job', 'operation'), name: text, count: whole, oldestMs: whole })),
  drain_since: nullable(moment),
  drain_by: nullable(text),
  memory_bytes: nullable(whole),
  loop_lag_ms: nullable(whole),
  started_at: moment,
  seen_ms: whole,
})

const finding = object({
  check: text,
  level: word('ok', 'warning', 'problem'),
  found: text,
  remedy: optional(text),
})

const alert = object({
  rule: text,
  subject: text,
  firing: yes,
  severity: word('warning', 'critical'),
  message: text,
  value: nullable(number),
  threshold: nullable(number),
  since: moment,
})

/** What the routes about all that is around the work answer. */
export const place = {
  session: object({
    user: text,
    role: word(...roles),
    environment: text,
    production: yes,
    readOnly: yes,
    traces: nullable(text),
    database: text,
    schema: text,
    version: text,
  }),
  schedules: object({ schedules: list(object({ ...scheduleStatus, ticks: list(tick) })) }),
  'schedules.run': object({ tick }),
  'schedules.enable': schedule,
  'schedules.disable': schedule,
  machines: object({ machines: list(machine) }),
  'samples.signals': object({ samples: list(signal), everyMs: whole }),
  audit: object({ acts: list(act), next: nullable(whole) }),
  workers: object({ workers: list(worker) }),
  'workers.drain': object({ workers: list(worker) }),
  health: object({ findings: list(finding), alerts: list(alert) }),
  about: object({
    version: text,
    node: text,
    database: text,
    schema: text,
    pendingMigrations: list(text),
    environment: text,
  }),
} satisfies Partial<Described>
