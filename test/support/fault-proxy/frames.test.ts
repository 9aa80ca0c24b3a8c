import { assert, integer, property, uniqueArray } from 'fast-check'
import { expect, test } from 'vitest'
import { Splitter } from './frames.ts'
import { execute, parse, query } from './messages.ts'

const untyped = (code: number, body = ''): Buffer => {
  const bytes = Buffer.alloc(8 + body.length)
  bytes.writeUInt32BE(bytes.length)
  bytes.writeUInt32BE(code, 4)
  bytes.write(body, 8)
  return bytes
}

test('a client stream falls into the same messages however it is cut into segments', () => {
  const messages = [
    untyped(80877103),
    untyped(196608, 'user\0me\0\0'),
    query('select 1'),
    parse('x'.repeat(500)),
    execute(''),
  ]
  const stream = Buffer.concat(messages)
  const cuts = uniqueArray(integer({ min: 1, max: stream.length - 1 }))
  assert(
    property(cuts, (places) => {
      const splitter = new Splitter({ opening: true })
      const edges = [0, ...places.toSorted((a, b) => a - b), stream.length]
      const frames = edges.slice(1).flatMap((end, i) => splitter.push(stream.subarray(edges[i], end)))
      expect(frames.map(({ type }) => type)).toEqual(['', '', 'Q', 'P', 'E'])
      expect(frames.map(({ bytes }) => bytes.toString())).toEqual(messages.map(String))
    }),
  )
})
