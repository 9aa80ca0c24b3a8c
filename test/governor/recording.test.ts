import { expect, test } from 'vitest'
import {
  limitedStretches,
  parseRecording,
  playRecording,
  probeNames,
  simulatedCases,
  simulateGovernor,
} from '../../src/index.ts'

const csv = 'second,replicaLag,activeSessions\n0,0,0.1\n\n3, 9000 ,\n5,0,0.1\n'
const json = `{"second":0,"replicaLag":0,"activeSessions":0.1}
{"second":3,"replicaLag":9000,"activeSessions":null}\r
{"second":5,"replicaLag":0,"activeSessions":0.1}`

test('CSV and JSON lines say the same, and a moment stands until the next', () => {
  const recording = parseRecording(csv, probeNames)
  expect(recording).toEqual(parseRecording(json, probeNames))
  const { seconds, signals } = playRecording(recording)
  expect(seconds).toBe(6)
  const at = (second: number): unknown => signals({ second, rowsPerSecond: 0, rows: 0 })
  expect(at(2)).toEqual({ replicaLag: 0, activeSessions: 0.1 })
  expect(at(4)).toEqual({ replicaLag: 9_000, activeSessions: undefined })
})

test('a recording that begins later has nothing to say before', () => {
  const { seconds, signals } = playRecording(parseRecording('second,replicaLag\n2,5', probeNames))
  expect([seconds, signals({ second: 1, rowsPerSecond: 0, rows: 0 })]).toEqual([3, {}])
})

test.each([
  ['', 'it is empty'],
  ['replicaLag\n5', 'names a column "second"'],
  ['second,replicaLag', 'no line below'],
  ['second,replicaLag\n0', 'line 2 has 1 places, and the first line names 2'],
  ['second,replicaLag\n0,much', '"replicaLag" in line 2 must be a number, or nothing, not much'],
  ['second,replicaLag\n,4', '"second" in line 2 must be a number'],
  ['second,replicaLag\n-1,4', '"second" in line 2 must be a number'],
  ['second,replicaLag\n5,4\n5,4', 'line 3 is not later than the one before it: second 5 after 5'],
  ['second,replicaLga\n0,4', 'Did you mean "replicaLag"?'],
  ['{"second":0}\nnonsense', 'line 2 is not JSON'],
  ['{"second":0,"replicaLag":"4"}', '"replicaLag" in line 1 must be a number, or nothing, not "4"'],
  ['{"second":99999999}', '"second" in line 1 must be a number from 0 and below'],
])('%j is refused', (text, problem) => {
  expect(() => parseRecording(text, probeNames)).toThrow(problem)
})

test.each(Object.entries(simulatedCases))(
  '%s shows what limits the work, and the same each time',
  (_, { simulation }) => {
    const trace = simulateGovernor(simulation())
    expect(trace).toEqual(simulateGovernor(simulation()))
    const stretches = limitedStretches(trace)
    expect(stretches.length).toBeGreaterThan(0)
    for (const { from, to, held } of stretches) {
      expect(to).toBeGreaterThanOrEqual(from)
      expect(held).toBe(trace.slice(from, to + 1).filter((point) => point.held).length)
    }
  },
)

/** A point of a trace, as far as stretches look at it. */
const at = (second: number, limitedBy: string | undefined, held = false): never =>
  ({ second, limitedBy, held, share: held ? 0 : 0.5 }) as never

test('a stretch ends when another signal limits the work, or none', () => {
  const trace = [
    at(0, 'lag is 2 s'),
    at(1, 'lag is 3 s', true),
    // Held until it has been calm for a while: that is not what limited most.
    at(2, 'lag is 0 s', true),
    at(3, 'load is 5'),
    at(4, undefined),
    at(5, 'load is 5'),
  ]
  expect(limitedStretches(trace)).toEqual([
    { from: 0, to: 2, held: 2, share: 0, limitedBy: 'lag is 3 s' },
    { from: 3, to: 3, held: 0, share: 0.5, limitedBy: 'load is 5' },
    { from: 5, to: 5, held: 0, share: 0.5, limitedBy: 'load is 5' },
  ])
})
