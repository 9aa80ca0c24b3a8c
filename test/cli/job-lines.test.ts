import { describe, expect, test } from 'vitest'
import { quoted } from '../../src/cli/jobs/filter.ts'
import { jobLines } from '../../src/cli/jobs/lines.ts'
import { lockTable } from '../../src/cli/jobs/locks.ts'
import { sentenceLine, sentenceOf, type Surroundings } from '../../src/cli/jobs/sentence.ts'
import { jobTable } from '../../src/cli/jobs/table.ts'
import { parseMoment } from '../../src/cli/moment-option.ts'
import { renderLine, type Line } from '../../src/cli/output.ts'
import { queueTable } from '../../src/cli/queues/table.ts'
import type { JobAttempt, JobStatus, QueueStatus } from '../../src/index.ts'

const at = (ms: number): Date => new Date(1_700_000_000_000 + ms)
const now = at(60_000)
const textOf = (lines: readonly Line[]): string[] => lines.map((line) => renderLine(line, false))

/** A job that waits, but for what is given. */
function jobOf(given: Partial<JobStatus> = {}): JobStatus {
  return {
    id: 41,
    name: 'stripe-sync',
    queue: 'billing',
    state: 'waiting',
    parked: false,
    priority: 'normal',
    attempt: 0,
    crashes: 0,
    args: {},
    tags: [],
    traceId: null,
    key: null,
    workerId: null,
    reason: null,
    error: null,
    enqueuedAt: at(0),
    runAt: at(0),
    finishedAt: null,
    waitMs: null,
    runMs: null,
    ...given,
  }
}

function attemptOf(given: Partial<JobAttempt> = {}): JobAttempt {
  const error = { name: 'OpenTimeout', message: 'connect timed out', code: 'ETIMEDOUT' }
  const times = { at: at(1_000), nextAt: at(5_000), runMs: 120 }
  return {
    attempt: 1,
    verdict: 'retry',
    reason: 'failure 1 of 6 on OpenTimeout',
    error,
    workerId: 'w',
    ...times,
    ...given,
  }
}

function queueOf(given: Partial<QueueStatus> = {}): QueueStatus {
  const counts = {
    waiting: 12_345,
    scheduled: 1,
    blocked: 0,
    running: 2,
    parked: 0,
    estimated: false,
    oldestMs: 61_000,
  }
  return { name: 'billing', paused: false, pausedBy: null, rate: null, ...counts, ...given }
}

const scheduled = { state: 'scheduled', runAt: at(64_000) } as const
const sentences: [string, Partial<JobStatus>, Partial<Surroundings>][] = [
  ['waits in billing for 1 min', {}, {}],
  ['is parked in billing: no running worker knows it', { parked: true }, { queue: queueOf({ paused: true }) }],
  ['waits: its queue billing is paused', {}, { queue: queueOf({ paused: true }) }],
  ['waits: its queue billing is paused by ann', {}, { queue: queueOf({ paused: true, pausedBy: 'ann' }) }],
  [
    'waits in billing for 1 min; at most 100 per 1 min start there',
    {},
    { queue: queueOf({ rate: { limit: 100, perMs: 60_000 } }) },
  ],
  ['is scheduled: it runs in 4.0 s, at 2023-11-14T22:14:24Z', scheduled, {}],
  ['is scheduled: it runs as soon as there is room', { ...scheduled, runAt: at(0) }, {}],
  [
    'is scheduled: it runs in 4.0 s, at 2023-11-14T22:14:24Z, once a worker knows it',
    { ...scheduled, parked: true },
    {},
  ],
  [
    'failed and runs again in 4.0 s, at 2023-11-14T22:14:24Z: connect timed out',
    scheduled,
    { attempts: [attemptOf()] },
  ],
  [
    'is snoozed and runs again in 4.0 s, at 2023-11-14T22:14:24Z: not yet',
    scheduled,
    { attempts: [attemptOf({ verdict: 'snooze', reason: 'not yet', error: null })] },
  ],
  ['waits behind others with the key customer:7', { state: 'blocked', key: 'customer:7' }, {}],
  ['runs, attempt 2, on worker w-1', { state: 'running', attempt: 2, workerId: 'w-1' }, {}],
  [
    'succeeded in attempt 1: it waited 1.5 s and ran 120 ms',
    { state: 'succeeded', attempt: 1, waitMs: 1_500, runMs: 120 },
    {},
  ],
  ['is dead: too often', { state: 'dead', reason: 'too often' }, {}],
  ['is quarantined: poison', { state: 'quarantined', reason: 'poison' }, {}],
  ['was discarded: pointless', { state: 'discarded', reason: 'pointless' }, {}],
  ['was cancelled: by a person', { state: 'cancelled', reason: 'by a\nperson' }, {}],
]

test.each(sentences)('a job %s', (text, given, around) => {
  expect(sentenceOf(jobOf(given), { now, ...around })).toBe(`stripe-sync 41 ${text}`)
})

test.each([
  ['✓', {}],
  ['!', { parked: true }],
  ['!', { state: 'cancelled' }],
  ['✗', { state: 'dead' }],
  ['✗', { state: 'quarantined' }],
  ['✓', { state: 'succeeded' }],
] as const)('the mark is %s for %j', (mark, given) => {
  expect(renderLine(sentenceLine(jobOf(given), { now }), false)).toMatch(new RegExp(`^${mark} stripe-sync 41 `))
})

function linesOf(given: Partial<JobStatus>, attempts: JobAttempt[] = [], verbose = false): string[] {
  return textOf(jobLines(jobOf(given), { now, attempts }, { width: 80, verbose }))
}

describe('all about a job', () => {
  test('has an error that no attempt tells, and not one that an attempt tells', () => {
    const error = { name: 'OpenTimeout', message: 'connect timed out', code: 'ETIMEDOUT' }
    const ended = { state: 'dead', reason: 'too often', error, finishedAt: now } as const
    expect(linesOf(ended)).toContain('  error    OpenTimeout: connect timed out (ETIMEDOUT)')
    const told = linesOf(ended, [attemptOf()])
    expect(told.filter((line) => line.includes('connect timed out'))).toEqual([
      '             OpenTimeout: connect timed out (ETIMEDOUT)',
    ])
    expect(told).toContain('  attempt 1  2023-11-14T22:13:21Z, ran 120 ms: retry in 4.0 s, failure 1 of 6 on')
  })

  test('tells of crashes', () => {
    expect(linesOf({ attempt: 3, crashes: 2 })).toContain('  attempt  3, its worker died 2 times')
  })

  test('shows the last attempts, and all with --verbose', () => {
    const attempts = Array.from({ length: 25 }, (_, n) => attemptOf({ attempt: n + 1, error: null }))
    expect(linesOf({}, attempts)).toContain('  5 earlier attempts: see them with --verbose')
    expect(linesOf({}, attempts).some((line) => line.startsWith('  attempt 5 '))).toBe(false)
    expect(linesOf({}, attempts, true).some((line) => line.startsWith('  attempt 5 '))).toBe(true)
  })

  test('cuts args that would fill the screen', () => {
    const args = linesOf({ args: { text: 'x'.repeat(5_000) } }).find((line) => line.includes('args')) ?? ''
    expect(args.length).toBeLessThan(1_100)
    expect(linesOf({ args: { text: 'x'.repeat(5_000) } }).join(' ')).toContain('whole with --json')
  })
})

test('on a narrow terminal a table loses cells and columns, but no id, name or state', () => {
  const jobs = [
    jobOf({
      id: 123_456_789,
      name: 'rebuild-search-index',
      state: 'dead',
      reason: 'failed 6 of 6 times on OpenTimeout',
    }),
  ]
  for (const width of [100, 80, 60, 40]) {
    const lines = textOf(jobTable(jobs, now, width))
    for (const line of lines) expect(line.length).toBeLessThanOrEqual(width)
    expect(lines[1]).toMatch(/^123456789 {2}rebuild-sea\S* .*dead/)
  }
  expect(textOf(jobTable(jobs, now))[1]).toMatch(/ failed 6 of 6 times on OpenTimeout$/)
})

test('queues have columns for what is so of one of them', () => {
  expect(textOf(queueTable([queueOf()]))).toEqual([
    'queue    waiting  scheduled  blocked  running  oldest',
    'billing   12,345          1        0        2   1 min',
  ])
  const limited = queueOf({ parked: 3, paused: true, pausedBy: 'ann', rate: { limit: 5, perMs: 1_000 } })
  const [head, line] = textOf(queueTable([limited]))
  expect(head).toMatch(/ parked {2}oldest {2}note$/)
  expect(line).toMatch(/ 3 {3}1 min {2}paused by ann, at most 5 per 1 s$/)
})

test('a lock tells when it expires', () => {
  const lock = { name: 'a', key: 'k', job_id: 1, until: 'start', expires_at: null } as const
  const rows = textOf(lockTable([lock, { ...lock, expires_at: at(0) }, { ...lock, expires_at: at(90_000) }], now))
  expect(rows.slice(1).map((row) => row.split(/ {2,}/).at(-1))).toEqual(['never', 'expired', '2023-11-14T22:14:50Z'])
})

test.each([
  ['plain-name', 'plain-name'],
  ['two words', "'two words'"],
  ["it's", `'it'\\''s'`],
  ['$(rm)', "'$(rm)'"],
  ['', "''"],
])('%j is typed as %s', (word, typed) => {
  expect(quoted(word)).toBe(typed)
})

test.each([
  ['2026-01-31T09:00:00Z', '2026-01-31T09:00:00.000Z'],
  ['2026-01-31 09:00+02:00', '2026-01-31T07:00:00.000Z'],
  ['2028-02-29T00:00:00.5-0130', '2028-02-29T01:30:00.500Z'],
])('the moment %s is %s', (text, iso) => {
  expect(parseMoment(text).toISOString()).toBe(iso)
})

test.each(['2026-01-31', '2026-01-31T09:00:00', '2026-02-29T00:00:00Z', '2026-13-01T00:00:00Z', '1', 'now', ''])(
  '%j is no moment',
  (text) => {
    expect(() => parseMoment(text)).toThrow('time with its zone')
  },
)
