import { transitions, type OperationState } from '../../index.ts'
import { errorRecord, keys, type Described } from './described.ts'
import { anything, list, moment, nullable, number, object, optional, text, whole, word, yes } from './schema.ts'

const states = Object.keys(transitions) as OperationState[]
const span = { from: number, to: number }
const walk = {
  kind: word('key', 'sparse', 'found'),
  index: nullable(text),
  columns: list(text),
  says: text,
}

const status = {
  id: text,
  name: text,
  args: anything,
  tenant: nullable(text),
  actor: nullable(text),
  state: word(...states),
  reason: nullable(text),
  disabled: yes,
  standstill: nullable(object({ reason: nullable(text), actor: nullable(text), since: moment })),
  parked: yes,
  priority: word('low', 'normal', 'high'),
  lanes: whole,
  mostLanes: nullable(whole),
  pace: number,
  subBatchSize: whole,
  tunedSize: nullable(whole),
  window: nullable(text),
  walk: object(walk),
  table: text,
  rowsSeen: whole,
  rowsMatched: whole,
  rowsChanged: whole,
  rowsSkipped: whole,
  rowsQuarantined: whole,
  rowsEstimate: number,
  progress: optional(number),
  pastEstimate: yes,
  eta: optional(object({ lowMs: number, highMs: number })),
  batchesFinished: whole,
  batches: list(
    object({ batch: whole, state: word('ready', 'running'), workerId: nullable(text), leaseMs: nullable(number) }),
  ),
  limitedBy: text,
  hint: nullable(text),
  error: nullable(errorRecord),
  createdAt: moment,
  startedAt: nullable(moment),
  finishedAt: nullable(moment),
  asOf: moment,
}

const operation = object(status)
const shown = object({ ...status, verbs: list(text) })

const transition = object({
  from: nullable(text),
  to: text,
  reason: nullable(text),
  actor: nullable(text),
  at: moment,
})

const stretch = object({
  first: whole,
  last: whole,
  batches: whole,
  from: nullable(keys),
  to: keys,
  rows: whole,
  changed: whole,
  busyMs: number,
  running: whole,
  retried: whole,
  failed: whole,
  error: nullable(errorRecord),
})

const quarantined = object({
  fingerprint: text,
  ranges: whole,
  rows: whole,
  error: errorRecord,
  keys: list(text),
  firstAt: moment,
  lastAt: moment,
})

/** The names of checks and codes grow from release to release. */
const finding = object({
  check: anything,
  severity: word('refuse', 'warn', 'note'),
  what: text,
  why: text,
  remedy: text,
  code: optional(anything),
})

const estimate = object({
  rowsToSee: number,
  rowsToChange: number,
  by: word('samples', 'planner'),
  sampled: object({ windows: whole, rows: whole, matched: whole }),
  batches: number,
  tableBytes: number,
  bytesToChange: number,
  walBytes: nullable(number),
  durationMs: nullable(object(span)),
})

const statement = { statement: word('carve', 'work'), text, found: text, indexes: list(text) }

const planned = {
  name: text,
  table: text,
  walk: object({ ...walk, why: text }),
  cursor: list(text),
  from: nullable(keys),
  to: nullable(keys),
  scope: nullable(text),
  estimate,
  findings: list(finding),
  refused: yes,
  dryRun: object({
    outcome: word('rolled back', 'left out', 'failed'),
    reason: nullable(text),
    run: nullable(
      object({
        rowsMatched: whole,
        rowsChanged: whole,
        elapsedMs: number,
        walBytes: number,
        updated: whole,
        hot: whole,
        deleted: whole,
        others: anything,
        rows: anything,
      }),
    ),
  }),
}
const plan = object({ ...planned, statements: list(object({ ...statement, plan: anything })) })
const shownPlan = object({ ...planned, statements: list(object(statement)) })

const sample = object({
  at: moment,
  rowsSeen: whole,
  rowsChanged: whole,
  batches: whole,
  subBatches: whole,
  quarantined: whole,
  walBytes: whole,
  subBatch: object({ p50Ms: nullable(number), p95Ms: nullable(number), targetMs: nullable(number) }),
  size: nullable(whole),
  status: nullable(text),
  lanes: nullable(whole),
  pace: nullable(number),
  share: nullable(number),
  limiter: nullable(text),
  holdMs: whole,
  progress: nullable(number),
})

const tallies = object({ running: whole, waiting: whole, stopped: whole, failed: whole, done: whole, all: whole })
const one = object({ operation })

/** What the routes about operations answer. */
export const operations = {
  operations: object({ operations: list(shown), tallies, more: yes }),
  'operations.get': object({ operation: shown, limits: object({ attention: nullable(text) }) }),
  'operations.records': object({
    transitions: list(transition),
    stretches: list(stretch),
    quarantine: list(quarantined),
    quarantineMore: yes,
  }),
  'operations.planned': object({ plan: shownPlan, madeAt: moment }),
  'operations.pause': one,
  'operations.resume': one,
  'operations.cancel': one,
  'operations.approve': one,
  'operations.retry': one,
  'operations.set': one,
  definitions: object({
    definitions: list(object({ name: text, table: text, approval: yes, args: nullable(anything), takesArgs: yes })),
  }),
  'operations.plan': object({ plan }),
  'operations.start': object({ id: text, duplicate: yes, findings: list(finding) }),
  'samples.operation': object({ samples: list(sample), everyMs: whole }),
} satisfies Partial<Described>
