import { PassThrough } from 'node:stream'
import { expect, test, vi } from 'vitest'
import { describeEvent } from '../../src/telemetry/sentence.ts'
import { logEvents } from '../../src/telemetry/log.ts'
import { Telemetry } from '../../src/telemetry/telemetry.ts'

const lost = { operationId: 'o', name: 'clean', batchId: 'b', batch: 3, at: 'sub-batch' } as const

function logged(format: 'json' | 'text', verbose = false): { telemetry: Telemetry; text: () => string } {
  const telemetry = new Telemetry()
  const stream = new PassThrough()
  const chunks: string[] = []
  stream.on('data', (chunk: Buffer) => chunks.push(chunk.toString()))
  logEvents(telemetry, { stream, format, verbose })
  return { telemetry, text: () => chunks.join('') }
}

test('a subscriber that throws harms neither the emitter nor the others, and is warned of', async () => {
  const warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined)
  const telemetry = new Telemetry()
  const seen: string[] = []
  telemetry.onAny(() => {
    throw new Error('broken')
  })
  const stop = telemetry.on('batch.lost', ({ name }) => seen.push(name))
  telemetry.emit('batch.lost', lost)
  telemetry.emit('warning', { message: 'else' })
  stop()
  telemetry.emit('batch.lost', lost)
  expect(seen).toEqual(['clean'])
  await Promise.resolve()
  expect(warned).toHaveBeenCalledTimes(3)
  warned.mockRestore()
})

test('JSON lines carry the event, its level and its payload', () => {
  const { telemetry, text } = logged('json')
  telemetry.emit('batch.lost', lost)
  expect(JSON.parse(text())).toMatchObject({ level: 40, event: 'batch.lost', ...lost })
})

test('text lines are short, marked, and safe for a terminal', () => {
  const { telemetry, text } = logged('text')
  telemetry.emit('warning', { message: 'odd \u001b[2J name' })
  expect(text()).toMatch(/^\d\d:\d\d:\d\d\.\d{3} ! odd \\u001b\[2J name\n$/)
})

test('what happens very often is said only when asked', () => {
  const often = { ...lost, rowsSeen: 10, rowsMatched: 6, rowsChanged: 5, elapsedMs: 3, walBytes: 9, targetMs: null }
  const quiet = logged('text')
  quiet.telemetry.emit('sub-batch.committed', often)
  expect(quiet.text()).toBe('')
  const verbose = logged('text', true)
  verbose.telemetry.emit('sub-batch.committed', often)
  expect(verbose.text()).toContain('clean batch 3: 5 of 10 rows in 3 ms')
})

const nothing = { operations: [], jobs: ['sluice.bulk'], sweeps: [], schedules: [], reconcilers: [] }

test.each([
  [
    {
      event: 'operation.started',
      payload: { operationId: 'o', name: 'clean', table: 'public.t', tenant: null, duplicate: true },
    },
    'clean is already unfinished as o; nothing new was started',
  ],
  [
    {
      event: 'operation.finished',
      payload: { operationId: 'o', name: 'clean', rowsSeen: 1234567, rowsChanged: 1000, batches: 3, elapsedMs: 65_000 },
    },
    'clean finished: 1,000 of 1,234,567 rows changed in 1 min 5 s',
  ],
  [
    { event: 'batch.lost', payload: lost },
    'clean batch 3 belongs to another worker now; nothing of it was committed here (sub-batch)',
  ],
  [
    { event: 'worker.started', payload: { workerId: 'w', pid: 7, ...nothing } },
    'worker w (pid 7) takes work for nothing: the configuration lists none',
  ],
  [
    { event: 'worker.started', payload: { workerId: 'w', pid: 7, ...nothing, sweeps: ['s'], schedules: ['daily'] } },
    'worker w (pid 7) takes work for s, daily',
  ],
] as const)('%#: an event reads as a sentence', (event, sentence) => {
  expect(describeEvent(event as never)).toBe(sentence)
})
