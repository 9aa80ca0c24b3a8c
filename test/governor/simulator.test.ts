import { describe, expect, test } from 'vitest'
import { plotTrace, simulateGovernor, type TracePoint } from '../../src/testing/index.ts'

const holds = (trace: readonly TracePoint[]): number =>
  trace.filter(({ held }, i) => held && trace[i - 1]?.held !== true).length

/** Numbers between 0 and 1 that look random and are always the same. */
function seeded(seed: number): () => number {
  let state = seed
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) % 2 ** 32
    return state / 2 ** 32
  }
}

const outlier = (name: string, usual: number, odd: number): TracePoint[] =>
  simulateGovernor({ seconds: 40, signals: ({ second }) => ({ [name]: second === 20 ? odd : usual }) })

/** The load of a server that is busy, beside so many transactions of others in a second, per core. */
const loadBeside = (transactions: number): number | undefined =>
  simulateGovernor({ seconds: 5, signals: () => ({ activeSessions: 0.3, commitTime: 6, transactions }) }).at(-1)?.load

const limitedBy = (values: Record<string, number>): string | undefined =>
  simulateGovernor({ seconds: 1, signals: () => values })[0]?.limitedBy

const blind = (second: number): boolean => second >= 20 && second < 40

describe('the five cases', () => {
  test('a step in the load slows the work at once, and stops nothing', () => {
    const trace = simulateGovernor({
      seconds: 60,
      signals: ({ second }) => ({ activeSessions: second < 20 || second >= 40 ? 0.02 : 5 }),
    })
    expect(trace.slice(0, 20).every(({ share, load }) => share === 1 && load === 0)).toBe(true)
    expect(trace[21]).toMatchObject({ held: false, load: 1 })
    expect(trace[23]?.share).toBeLessThan(0.2)
    expect(holds(trace)).toBe(0)
    expect(trace.at(-1)?.share).toBe(1)
    expect(trace.at(-1)?.load).toBeLessThan(0.1)
    expect(plotTrace(trace)).toMatchInlineSnapshot(`
      "activeSessions ▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁████████████████████▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁  up to 5
      pace           ████████████████████▄▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▃███████████████████  up to 1
      load                               ████████████████████████▇▆▅▄▄▃▃▂▂▂▂▁▁▁▁▁  up to 1
      rows/s         ████████████████████▄▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▃███████████████████  up to 10000
      held           ............................................................
      s              0                                                         60"
    `)
  })

  test('one outlier of a gauge is taken for less than it is, and one of a budget stops at once', () => {
    const gauge = outlier('activeSessions', 0.5, 4.5)
    expect(Math.min(...gauge.map(({ share }) => share))).toBeGreaterThan(0.3)
    const budget = outlier('replicaLag', 0, 60_000)
    expect(budget[20]).toMatchObject({ held: true, share: 0 })
    // Three calm readings end it.
    expect(budget.filter(({ held }) => held)).toHaveLength(3)
    expect(plotTrace(budget)).toMatchInlineSnapshot(`
      "replicaLag                     █                     up to 60000
      pace       ████████████████████   █████████████████  up to 1
      load                                                 up to 0
      rows/s     ████████████████████   █████████████████  up to 10000
      held       ....................HHH.................
      s          0                                     40"
    `)
  })

  test('a noisy signal around its soft limit makes no flickering', () => {
    const random = seeded(7)
    const trace = simulateGovernor({
      seconds: 300,
      signals: () => ({ activeSessions: 1.5 + (random() - 0.5) * 2, replicaLag: 1_500 + random() * 4_000 }),
    })
    expect(holds(trace)).toBe(0)
    const steps = trace.slice(1).map(({ share }, i) => Math.abs(share - (trace[i]?.share ?? 0)))
    expect(Math.max(...steps)).toBeLessThan(0.9)
  })

  test('a noisy signal around its hard limit is one hold, not many', () => {
    const random = seeded(11)
    const trace = simulateGovernor({
      seconds: 200,
      signals: ({ second }) => ({ replicaLag: second > 20 && second < 120 ? 4_000 + random() * 8_000 : 100 }),
    })
    expect(holds(trace)).toBe(1)
    expect(trace.at(-1)).toMatchObject({ held: false, share: 1 })
    expect(plotTrace(trace)).toMatchInlineSnapshot(`
      "replicaLag ▁▁▁▁▁▁▁▁▄▅█▇▇▅▇▇▅▇▅▆██▇█▅█▇▆▅▆▇▇▆█▆▇▆▆▅█▅▇██▇▅██▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁  up to 11958.53
      pace       █████████▄                                       ███████████████████████████████  up to 1
      load                                                                                         up to 0
      rows/s     █████████▄                                       ███████████████████████████████  up to 10000
      held       ..........HHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHH...............................
      s          0                                                                            200"
    `)
  })

  test('a budget that cannot be seen stops the work after three polls, a gauge keeps its last value', () => {
    const trace = simulateGovernor({
      seconds: 60,
      signals: ({ second }) => ({
        replicaLag: blind(second) ? undefined : 0,
        activeSessions: blind(second) ? undefined : second < 20 ? 2.5 : 0,
      }),
    })
    const before = trace[19]?.share ?? 0
    expect(before).toBeLessThan(0.5)
    expect(trace[21]).toMatchObject({ held: false, share: before })
    expect(trace[22]).toMatchObject({ held: true, limitedBy: expect.stringContaining('replica lag cannot be read') })
    // What was seen before the gap does not weigh on what is seen after it.
    expect(trace.slice(42).every(({ held, share }) => !held && share === 1)).toBe(true)
    expect(plotTrace(trace)).toMatchInlineSnapshot(`
      "replicaLag                         ????????????????????                      up to 0
      activeSessions ████████████████████????????????????????                      up to 2.50
      pace           ▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃                    ██████████████████  up to 1
      load           ████████████████████████████████████████▇▆▅▄▄▃▃▂▂▂▂▁▁▁▁▁▁▁▁▁  up to 1
      rows/s         ▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃                    ██████████████████  up to 10000
      held           ......................HHHHHHHHHHHHHHHHHHHH..................
      s              0                                                         60"
    `)
  })

  test('a slow replica gets as much as it can replay', () => {
    const perSecond = 4_000
    let behind = 0
    const trace = simulateGovernor({
      seconds: 300,
      signals: ({ rowsPerSecond }) => {
        behind = Math.max(0, behind + rowsPerSecond - perSecond)
        return { replicaLag: (behind / perSecond) * 1_000 }
      },
    })
    const steady = trace.slice(100)
    const mean = steady.reduce((sum, point) => sum + point.rowsPerSecond, 0) / steady.length
    expect(mean).toBeGreaterThan(perSecond * 0.85)
    expect(mean).toBeLessThan(perSecond * 1.05)
    expect(Math.max(...trace.map(({ values }) => values['replicaLag'] ?? 0))).toBeLessThan(10_000)
    expect(plotTrace(trace)).toMatchInlineSnapshot(`
      "replicaLag ▅███████████████████████████████████████████████████████████████████████████████  up to 4940.25
      pace       █▅▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄  up to 1
      load                                                                                         up to 0
      rows/s     █▅▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄  up to 10000
      held       ................................................................................
      s          0                                                                            300"
    `)
  })
})

test('when pausing does not help, work goes on at a floor pace and says so', () => {
  const trace = simulateGovernor({
    seconds: 120,
    patienceSeconds: 30,
    signals: ({ second }) => ({ archive: 50 + second }),
  })
  expect(trace[10]).toMatchObject({ held: true })
  expect(trace[40]).toMatchObject({
    held: false,
    share: 0.02,
    limitedBy: expect.stringContaining('pausing has not helped'),
  })
})

test('when pausing helps, however slowly, the hold lasts', () => {
  const trace = simulateGovernor({
    seconds: 120,
    patienceSeconds: 30,
    signals: ({ second }) => ({ archive: Math.max(14, 100 - second) }),
  })
  expect(trace.slice(1, 87).every(({ held }) => held)).toBe(true)
  expect(trace.at(-1)).toMatchObject({ held: false })
})

test('what our own work does to a server that nobody else uses is no load', () => {
  expect(loadBeside(10)).toBe(0)
  expect(loadBeside(50)).toBeGreaterThan(0)
  expect(loadBeside(400)).toBe(1)
})

test('a limiter that cannot stop the work does not say that it would', () => {
  expect(limitedBy({ activeSessions: 3 })).toBe(
    'active sessions of others is 3 per core, slows from 1.5 per core, slowest from 4 per core',
  )
  expect(limitedBy({ replicaLag: 5_000 })).toBe('replica lag is 5.0 s, slows from 2.0 s, stops at 10 s')
})

test('a controller of sizes runs along, with the load as its input', () => {
  const trace = simulateGovernor({
    seconds: 30,
    signals: ({ second }) => ({ activeSessions: second < 15 ? 0 : 1 }),
    size: {
      initial: 1_000,
      rowsOf: (rows) => rows,
      elapsedMs: (rows, load) => 0.5 + rows * 0.002 * (1 + load),
      // Fifty milliseconds when idle, three under load.
      next: (rows, { elapsedMs, load }) => Math.round(rows * Math.min(1.5, (50 - 47 * load) / elapsedMs)),
    },
  })
  expect(trace[14]?.size).toBeGreaterThan(10_000)
  expect(trace[29]?.size).toBeLessThan(2_000)
  expect(plotTrace(trace)).toContain('sub-batch')
})
