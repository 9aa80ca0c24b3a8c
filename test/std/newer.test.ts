import { expect, test } from 'vitest'
import { isNewer } from '../../src/std/newer.ts'

test('versions are in the order of semver', () => {
  const order = [
    '0.9.0',
    '0.10.0-alpha',
    '0.10.0-alpha.1',
    '0.10.0-alpha.beta',
    '0.10.0-rc.2',
    '0.10.0-rc.10',
    '0.10.0',
  ]
  const inOrder = [...order, '0.10.1', '1.0.0-0', '1.0.0', '1.0.1-x-y.1', '1.0.1', '2.0.0']
  for (const [i, a] of inOrder.entries()) {
    for (const [k, b] of inOrder.entries()) expect([a, b, isNewer(a, b)]).toEqual([a, b, i > k])
  }
  expect(isNewer('1.0.0+build.2', '1.0.0+build.1')).toBe(false)
})
