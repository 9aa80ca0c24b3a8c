import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { toJson } from '../../src/std/json.ts'

const circular: Record<string, unknown> = {}
circular['self'] = circular

let deep: unknown = 1
for (let i = 0; i < 10_000; i++) deep = { deep }

const refused: [string, unknown, string][] = [
  ['NUL', { a: 'x\0y' }, 'args.a'],
  ['NUL in a key', { 'a\0': 1 }, 'args'],
  ['half a surrogate pair', ['\uD800'], 'args[0]'],
  ['NaN', { n: Number.NaN }, 'args.n'],
  ['Infinity', -Infinity, 'args'],
  ['BigInt', { n: 1n }, 'args.n'],
  ['undefined in an array', [undefined], 'args[0]'],
  ['a function', { f: () => 1 }, 'args.f'],
  ['a symbol', { s: Symbol('x') }, 'args.s'],
  ['a Map', new Map(), 'args'],
  ['a Set', { s: new Set() }, 'args.s'],
  ['an instance', new URL('http://localhost'), 'args'],
  ['an invalid Date', { d: new Date(Number.NaN) }, 'args.d'],
  ['a cycle', circular, 'args.self'],
  ['endless depth', deep, 'args'],
  ['__proto__', JSON.parse('{"__proto__": {"admin": true}}'), 'args'],
  [
    'a getter that throws',
    Object.defineProperty({}, 'x', {
      enumerable: true,
      get: () => {
        throw new Error('no')
      },
    }),
    'args',
  ],
  [
    'a proxy that throws',
    new Proxy(
      {},
      {
        ownKeys: () => {
          throw new Error('no')
        },
      },
    ),
    'args',
  ],
]

describe('what JSON cannot hold is refused with its place', () => {
  test.each(refused)('%s', (_, value, path) => {
    const result = toJson(value)
    expect(result).toHaveProperty('fault.reason')
    expect('fault' in result && result.fault.path.startsWith(path)).toBe(true)
  })
})

test('equal values have equal text, whatever the order of their keys', () => {
  const a = toJson({ b: 1, a: { d: [1, 2], c: null } })
  const b = toJson({ a: { c: null, d: [1, 2] }, b: 1 })
  expect(JSON.stringify(a)).toBe(JSON.stringify(b))
})

test('dates become ISO text and undefined properties vanish, as in JSON', () => {
  expect(toJson({ at: new Date(0), gone: undefined })).toEqual({ value: { at: '1970-01-01T00:00:00.000Z' } })
})

test('every JSON value is given back unchanged', () => {
  fc.assert(
    fc.property(fc.jsonValue({ noUnicodeString: true, maxDepth: 6 }), (value) => {
      const plain = JSON.parse(JSON.stringify(value).replaceAll('\\u0000', '').replaceAll('__proto__', 'proto'))
      const result = toJson(plain)
      expect(result).toEqual({ value: plain })
    }),
  )
})
