import { PassThrough } from 'node:stream'
import { expect, test } from 'vitest'
import { logEvents } from '../../src/telemetry/log.ts'
import { Repeats } from '../../src/telemetry/repeats.ts'
import { Telemetry, type AnyEvent } from '../../src/telemetry/telemetry.ts'

const error = { name: 'Error', message: 'connect ECONNREFUSED 127.0.0.1:5432' }
const lost = (purpose: string, attempt: number): AnyEvent => ({
  event: 'connection.lost',
  payload: { purpose, error, attempt, waitMs: 1_000 },
})
const restored: AnyEvent = { event: 'connection.restored', payload: { purpose: 'renewal', afterMs: 600_000 } }
const warning = (message: string): AnyEvent => ({ event: 'warning', payload: { message } })
const purposes = ['control', 'renewal', 'schedules', 'jobs', 'job completion', 'listen', 'sweeps']

/** What is let through of so many seconds of an outage, each with the number that was left out before it. */
function outage(repeats: Repeats, from: number, to: number): [second: number, purpose: string, leftOut: number][] {
  const shown: [number, string, number][] = []
  for (let second = from; second < to; second++) {
    for (const purpose of purposes) {
      const leftOut = repeats.pass(lost(purpose, second - from + 1), second * 1_000)
      if (leftOut !== undefined) shown.push([second, purpose, leftOut])
    }
  }
  return shown
}

test('of an outage each purpose says the first try that failed, then one line a minute says how many were left out', () => {
  const shown = outage(new Repeats(), 0, 600)
  expect(shown.slice(0, purposes.length)).toEqual(purposes.map((purpose) => [0, purpose, 0]))
  expect(shown.slice(purposes.length, purposes.length + 2)).toEqual([
    [60, 'control', 59 * purposes.length],
    [120, 'control', 60 * purposes.length - 1],
  ])
  expect(shown).toHaveLength(purposes.length + 9)
})

test('warnings for the reason of an outage are part of it, others are not', () => {
  const repeats = new Repeats()
  outage(repeats, 0, 1)
  const said = (message: string): number | undefined => repeats.pass(warning(message), 1_000)
  expect(said(`Sweep failed: ${error.message}`)).toBeUndefined()
  expect(said('Sweep failed: no permission')).toBe(0)
  expect(said('Upkeep failed: no permission')).toBeUndefined()
  expect(said('something else')).toBe(0)
  expect(repeats.pass(restored, 2_000)).toBe(2)
  expect(said(`Sweep failed: ${error.message}`)).toBe(0)
})

test('the end of an outage is told with the number of lines that were left out, and the next one begins anew', () => {
  const repeats = new Repeats()
  outage(repeats, 0, 30)
  expect(repeats.pass(restored, 30_000)).toBe(29 * purposes.length)
  expect(outage(repeats, 31, 32)).toHaveLength(purposes.length)
  expect(repeats.pass(restored, 32_000)).toBe(0)
})

test('slots that notice the same moment are one line, an outage some seconds later is another', () => {
  const repeats = new Repeats()
  expect([0, 0, 3, 6_000].map((ms) => repeats.pass(lost('control', 1), ms))).toEqual([0, undefined, undefined, 0])
  expect(repeats.pass(restored, 7_000)).toBe(2)
})

test('a warning that repeats itself word for word is one a minute, others are all there', () => {
  const repeats = new Repeats()
  const said = (message: string, ms: number): number | undefined => repeats.pass(warning(message), ms)
  expect([said('a', 0), said('a', 10_000), said('b', 10_000), said('a', 61_000)]).toEqual([0, undefined, 0, 1])
  for (let n = 0; n < 1_000; n++) expect(said(`row ${n}`, 62_000)).toBe(0)
})

test('the log carries the number, subscribers get every event', () => {
  const telemetry = new Telemetry()
  const seen: AnyEvent[] = []
  telemetry.onAny((event) => seen.push(event))
  const chunks = { json: '', text: '' }
  for (const format of ['json', 'text'] as const) {
    const stream = new PassThrough().on('data', (chunk: Buffer) => (chunks[format] += chunk.toString()))
    logEvents(telemetry, { stream, format })
  }
  for (const { event, payload } of [lost('jobs', 1), lost('jobs', 2), lost('jobs', 3), restored])
    telemetry.emit(event, payload)
  expect(seen).toHaveLength(4)
  const lines = chunks.json.trim().split('\n')
  expect(lines.map((line) => JSON.parse(line) as object)).toMatchObject([
    { event: 'connection.lost', attempt: 1 },
    { event: 'connection.restored', leftOut: 2 },
  ])
  expect(chunks.text).toMatch(/reachable again \(renewal\) after 10 min \(2 lines about it left out\)\n$/)
})
