import { expect, test } from 'vitest'
import type { ScheduleStatus } from '../../src/index.ts'
import { scheduleTable } from '../../src/cli/schedules/table.ts'

const asOf = new Date('2026-03-01T12:00:00Z')

const status: ScheduleStatus = {
  name: 'daily-digest',
  rule: '0 7 * * 1-5',
  zone: 'Europe/Berlin',
  target: { kind: 'job', name: 'send-digest' },
  enabled: true,
  disabledBy: null,
  reason: null,
  missed: 'one',
  overlap: 'skip',
  window: null,
  delayMs: 0,
  deadlineMs: null,
  nextAt: new Date('2026-03-01T14:05:00Z'),
  nextRuns: [new Date('2026-03-01T14:05:00Z')],
  parked: false,
  blockedBy: null,
  lastTick: null,
  createdAt: asOf,
  asOf,
}

const tick = {
  schedule: 'daily-digest',
  tick: new Date('2026-03-01T11:57:00Z'),
  outcome: 'started',
  reason: null,
  jobId: 12,
  operationId: null,
  missed: 0,
  actor: null,
  settledAt: asOf,
} as const

const lineOf = (rest: Partial<ScheduleStatus>, width?: number): string =>
  (scheduleTable([{ ...status, ...rest }], width)[1] ?? [])
    .map((part) => (typeof part === 'string' ? part : part[1]))
    .join('')
    .trimEnd()

test.each<[string, Partial<ScheduleStatus>, RegExp]>([
  ['when it is due', {}, /0 7 \* \* 1-5 Europe\/Berlin {2}job send-digest {2}in 2 h 5 min {2}–$/],
  ['the day when that is far', { nextAt: new Date('2026-04-01T00:00:00Z') }, /2026-04-01T00:00:00Z/],
  ['that it is never due', { nextAt: null }, / never /],
  ['its hours', { window: '00:00-06:00 UTC' }, /Berlin, 00:00-06:00 UTC/],
  ['what the last tick started', { lastTick: tick }, /3 min ago: job 12$/],
  [
    'that it was skipped, and why',
    { lastTick: { ...tick, outcome: 'skipped', jobId: null, reason: 'blocked by job 1' } },
    /3 min ago: skipped {2}blocked by job 1$/,
  ],
  [
    'what is in its way',
    { blockedBy: { kind: 'job', id: 12, since: new Date('2026-03-01T11:00:00Z') } },
    /blocked by job 12 for 1 h$/,
  ],
  [
    'who disabled it, and why',
    { enabled: false, disabledBy: 'ada', reason: 'release' },
    / – .*disabled by ada: release$/,
  ],
  ['that nobody keeps it', { parked: true }, /parked$/],
])('a line says %s', (_, rest, expected) => {
  expect(lineOf(rest)).toMatch(expected)
})

test('on a narrow terminal the reason stays', () => {
  const blockedBy = { kind: 'job', id: 12, since: new Date('2026-03-01T11:00:00Z') } as const
  const line = lineOf({ blockedBy, lastTick: tick }, 80)
  expect(line).toContain('blocked by job 12 for 1 h')
  expect(line.length).toBeLessThanOrEqual(80)
})
