import { expect, test } from 'vitest'
import { BatchSizes } from '../../src/operations/batch-sizes.ts'
import type { Changed } from '../../src/targets/outcome.ts'

const first = { given: 500, most: 1_000, found: 500, crashes: 0, lastLook: undefined, verifies: false, isEmpty: false }
const done = (rows: number): Changed => ({
  at: ['1'],
  rowsAtOnce: rows,
  rowsSeen: rows,
  rowsMatched: rows,
  rowsChanged: rows,
  elapsedMs: 10,
  walBytes: 0,
  limits: { pace: 1, sub_batch_size: 1_000 },
  rest: false,
  next: undefined,
})

test('a window with no row in it leaves the size as it is', () => {
  const sizes = new BatchSizes(first)
  sizes.learn(done(0), { scoped: true, wanted: ({ rows }) => rows * 2 })
  expect(sizes.subBatch).toBe(500)
  sizes.learn(done(200), { scoped: true, wanted: ({ rows }) => rows * 2 })
  expect(sizes.subBatch).toBe(400)
})
