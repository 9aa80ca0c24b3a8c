import { expect, test } from 'vitest'
import { Sizes } from '../../src/operations/sizes.ts'

test('a process remembers the last operations, not all that it ever worked on', () => {
  const sizes = new Sizes()
  for (let i = 0; i < 1_000; i++) {
    sizes.looked(`operation ${i}`, 7)
    sizes.strode(`operation ${i}`)
  }
  expect([sizes.lastLook('operation 0'), sizes.lastLook('operation 999')]).toEqual([undefined, 7])
  expect([sizes.strides('operation 0'), sizes.strides('operation 999')]).toEqual([false, true])
})
