import { expect, test } from 'vitest'
import { HeldClaims } from '../../src/jobs/held-claims.ts'

test('a claim goes with its last job, and is held until that is written', () => {
  const claims = new HeldClaims()
  claims.opened('a', 3)
  expect(claims.emptyAfter(['a', 'a'])).toEqual([])
  for (const claimId of ['a', 'a']) claims.left(claimId)
  expect(claims.emptyAfter(['a'])).toEqual(['a'])
  expect(claims.has('a')).toBe(true)
  claims.gone(['a'])
  claims.left('a')
  expect([claims.has('a'), claims.anyEmpty]).toEqual([false, false])
})

test('a claim whose last jobs end in two statements at the same moment goes with the next one', () => {
  const claims = new HeldClaims()
  claims.opened('a', 2)
  expect([claims.emptyAfter(['a']), claims.emptyAfter(['a'])]).toEqual([[], []])
  claims.left('a')
  expect(claims.anyEmpty).toBe(false)
  claims.left('a')
  expect(claims.anyEmpty).toBe(true)
  expect(claims.emptyAfter([])).toEqual(['a'])
})

test('a claim that was to go with a statement which did nothing goes with the next one', () => {
  const claims = new HeldClaims()
  claims.opened('a', 1)
  claims.opened('b', 1)
  claims.left('a')
  const first = claims.emptyAfter(['b'])
  expect(first).toEqual(['b', 'a'])
  claims.stayed(first)
  expect(claims.emptyAfter(['b'])).toEqual(['b', 'a'])
})
