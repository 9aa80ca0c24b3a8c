import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { carveRows, learn, shrink, sizing, targetMs, type Aim, type Sizing } from '../../src/operations/size.ts'
import { Sizes } from '../../src/operations/sizes.ts'

const aim: Aim = { targetMs: 50, limitMs: 250, most: 1_000_000 }

/** A database on which a unit takes `fixedMs` and its rows at a rate; noise is the same in every run. */
function database({ fixedMs, perMs, noise = 0 }: { fixedMs: number; perMs: number; noise?: number }) {
  let turn = 0
  return (rows: number): number => {
    turn += 1
    const wave = 1 + noise * Math.sin(turn * 12.9898) * Math.cos(turn * 4.1414)
    return (fixedMs + rows / perMs) * wave
  }
}

function run(from: Sizing, units: number, time: (rows: number) => number, to: Aim = aim): Sizing[] {
  const path: Sizing[] = [from]
  for (let unit = 0; unit < units; unit++) {
    const sized = path.at(-1) ?? from
    path.push(learn(sized, { rows: sized.rows, ms: time(sized.rows) }, to))
  }
  return path
}

const last = (path: Sizing[]): number => path.at(-1)?.rows ?? Number.NaN
const within = (rows: number, of: number, share: number): boolean => Math.abs(rows / of - 1) <= share

describe('the size of a unit', () => {
  test('comes to the target from far below within a dozen units, and stays', () => {
    const path = run(sizing(500), 60, database({ fixedMs: 1.5, perMs: 1_000 }))
    const arrived = path.findIndex(({ rows }) => within(rows, 50_000, 0.15))
    expect(arrived).toBeGreaterThan(0)
    expect(arrived).toBeLessThanOrEqual(12)
    expect(path.slice(arrived + 6).every(({ rows }) => within(rows, 50_000, 0.25))).toBe(true)
  })

  test('comes down at once when rows have become slow, without falling far below', () => {
    const before = run(sizing(500), 40, database({ fixedMs: 1, perMs: 1_000 })).at(-1) ?? expect.unreachable()
    const path = run(before, 30, database({ fixedMs: 1, perMs: 20 }))
    expect(path.findIndex(({ rows }) => rows <= 1_500)).toBeLessThanOrEqual(8)
    expect(Math.min(...path.map(({ rows }) => rows))).toBeGreaterThanOrEqual(400)
    expect(within(last(path), 1_000, 0.3)).toBe(true)
  })

  test('does not fall for a cost that smaller units would only pay more often', () => {
    const path = run(sizing(500), 60, database({ fixedMs: 180, perMs: 10 }))
    expect(last(path)).toBeGreaterThanOrEqual(300)
  })

  test('does not fall to nothing where all but a little of the time is fixed, and noisy', () => {
    const fixed = database({ fixedMs: 3, perMs: 600, noise: 0.8 })
    const spiked = (rows: number, i: number): number => fixed(rows) + (i % 31 === 0 ? 5 + (i % 17) : 0)
    let [sized, rows, ms] = [sizing(500), 0, 0]
    const sizes: number[] = []
    for (let i = 0; i < 4_000; i++) {
      const took = spiked(sized.rows, i)
      sizes.push(sized.rows)
      rows += sized.rows
      ms += took
      sized = learn(sized, { rows: sized.rows, ms: took }, { ...aim, targetMs: 2 })
    }
    const small = sizes.filter((size) => size < 300)
    expect(small.length).toBeLessThan(sizes.length / 10)
    // Rows take about as long as the rest.
    expect(rows / ms).toBeGreaterThan(600 * 0.4)
  })

  test('comes back from one row', () => {
    const path = run({ ...sizing(1), units: 100 }, 100, database({ fixedMs: 3, perMs: 600, noise: 0.2 }), {
      ...aim,
      targetMs: 2,
    })
    expect(last(path)).toBeGreaterThanOrEqual(600)
  })

  test('forgets one odd unit soon', () => {
    const steady = database({ fixedMs: 1, perMs: 500 })
    const before = run(sizing(500), 40, steady).at(-1) ?? expect.unreachable()
    const odd = learn(before, { rows: before.rows, ms: steady(before.rows) * 5 }, aim)
    expect(odd.rows).toBeGreaterThanOrEqual(before.rows * 0.3)
    expect(within(last(run(odd, 15, steady)), before.rows, 0.25)).toBe(true)
  })

  test('keeps most units below the limit when times are noisy', () => {
    const noisy = database({ fixedMs: 2, perMs: 300, noise: 0.5 })
    const path = run(sizing(500), 200, noisy)
    const late = path.slice(20).filter(({ rows }) => noisy(rows) > aim.limitMs)
    expect(late.length).toBeLessThanOrEqual(5)
    expect(path.slice(20).every(({ rows }) => rows > 3_000 && rows < 60_000)).toBe(true)
  })

  test('never asks for more than the limit of a unit, a ceiling of rows or of WAL', () => {
    const quick = database({ fixedMs: 200, perMs: 100 })
    expect(last(run(sizing(100), 50, quick, { ...aim, targetMs: 1_000 }))).toBeLessThanOrEqual(25_000)
    expect(last(run(sizing(100), 50, database({ fixedMs: 0, perMs: 1e6 }), { ...aim, most: 7_000 }))).toBe(7_000)
    let sized = sizing(100)
    for (let unit = 0; unit < 50; unit++) {
      sized = learn(sized, { rows: sized.rows, ms: 1, walBytes: sized.rows * 1_000 }, { ...aim, walBytes: 4_000_000 })
    }
    expect(sized.rows).toBe(4_000)
  })

  test('halves after a limit was hit, and does not grow for five units', () => {
    const before = run(sizing(500), 40, database({ fixedMs: 1, perMs: 100 })).at(-1) ?? expect.unreachable()
    const path = run(shrink(before), 12, database({ fixedMs: 1, perMs: 100 }))
    expect(path[0]?.rows).toBe(Math.floor(before.rows / 2))
    expect(path.slice(0, 5).every(({ rows }) => rows <= before.rows / 2)).toBe(true)
    expect(last(path)).toBeGreaterThan(before.rows / 2)
    expect(shrink(sizing(1)).rows).toBe(1)
  })

  test('learns nothing from a unit without rows, and does not grow by the short end of a batch', () => {
    const start = sizing(1_000)
    expect(learn(start, { rows: 0, ms: 3 }, aim)).toBe(start)
    expect(learn(start, { rows: 10, ms: 0.1 }, aim).rows).toBeLessThanOrEqual(1_000)
  })
})

describe('the rows of a batch', () => {
  const tuned = { batch_size: 2_000_000, carve_size: 800_000, tunes_batches: true, rows_seen: 0 }

  test.each([
    ['as found, for one lane', { lanes: 1, rows_estimate: 1_000_000 }, 800_000],
    ['half of a share of what is left, for several', { lanes: 2, rows_estimate: 1_000_000 }, 250_000],
    ['as found while much is left', { lanes: 2, rows_estimate: 10_000_000 }, 800_000],
    ['never few', { lanes: 8, rows_estimate: 100_000 }, 50_000],
    ['as found when more rows were seen than estimated', { lanes: 2, rows_estimate: 10, rows_seen: 11 }, 800_000],
    ['as the definition says', { lanes: 2, rows_estimate: 10, tunes_batches: false, carve_size: null }, 2_000_000],
  ])('%s', (_, operation, rows) => {
    expect(carveRows({ ...tuned, ...operation })).toBe(rows)
  })
})

const most = 100_000
const load = fc.double({ min: 0, max: 1, noNaN: true })
/** Sizes within 8 % of the wanted one are kept. */
const limitMs = 250 * 1.09

test('the size of a sub-batch is never aimed at more than 250 ms, whatever was measured', () => {
  const measured = fc.record({ ms: fc.double({ min: 0.01, max: 60_000, noNaN: true }), load })
  fc.assert(
    fc.property(fc.integer({ min: 1, max: most }), fc.array(measured, { maxLength: 60 }), (first, units) => {
      let sized = sizing(first)
      for (const { ms, load: busy } of units) {
        const before = sized
        sized = learn(before, { rows: before.rows, ms }, { targetMs: targetMs(busy), limitMs: 250, most })
        const expectedMs = sized.rows / Math.exp(sized.rate)
        const isSmaller = sized.rows === 1 || sized.rows <= before.rows * 0.35
        const isTried = sized.rows <= before.rows * 2 && ms * 2 <= 250
        expect(expectedMs <= limitMs || isSmaller || isTried).toBe(true)
      }
    }),
  )
})

test('the size of a sub-batch settles where rows and all that is fixed take at most 250 ms together', () => {
  const server = fc.record({
    fixedMs: fc.double({ min: 0, max: 180, noNaN: true }),
    perMs: fc.double({ min: 0.1, max: 1_000, noNaN: true }),
    load,
  })
  fc.assert(
    fc.property(server, ({ fixedMs, perMs, load: busy }) => {
      const [sizes, time] = [new Sizes(), database({ fixedMs, perMs })]
      let rows = 500
      for (let unit = 0; unit < 100; unit++) {
        rows = sizes.learn('1', { rows, ms: time(rows) }, { external: false, most, load: busy })
      }
      expect(fixedMs + rows / perMs).toBeLessThanOrEqual(limitMs)
    }),
  )
})
