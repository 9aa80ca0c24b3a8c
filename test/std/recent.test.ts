import { expect, test } from 'vitest'
import { Recent } from '../../src/std/recent.ts'

test('what was not asked for longest is forgotten', () => {
  const recent = new Recent<number>(3)
  for (const [i, key] of ['a', 'b', 'c'].entries()) recent.set(key, i)
  expect(recent.get('a')).toBe(0)
  recent.set('d', 3)
  expect(recent.get('b')).toBeUndefined()
  expect(['a', 'c', 'd'].map((key) => recent.get(key))).toEqual([0, 2, 3])
  recent.delete('c')
  expect(recent.size).toBe(2)
})
