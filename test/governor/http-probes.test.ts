import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { defineProbe, httpProbe, prometheusProbe, type Probe } from '../../src/index.ts'

async function serving(answer: {
  status: number
  body?: unknown
  hang?: boolean
}): Promise<{ url: string } & AsyncDisposable> {
  const server: Server = createServer((_, response) => {
    if (answer.hang === true) return
    response.writeHead(answer.status, { 'content-type': 'application/json' })
    response.end(JSON.stringify(answer.body ?? {}))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
const ask = (probe: Probe) => probe.open()({} as never, '')

const vector = (...values: string[]) => ({
  data: { resultType: 'vector', result: values.map((value) => ({ metric: {}, value: [1, value] })) },
})

test.each([
  [200, { value: 0 }],
  [204, { value: 0 }],
  [429, { value: 1, said: 'the answer was 429' }],
  [503, { value: 1, said: 'the answer was 503' }],
])('an answer of %i', async (code, measure) => {
  await using server = await serving({ status: code })
  expect(await ask(httpProbe({ name: 'slo', url: server.url }))).toEqual(measure)
})

test('any other answer, none in time and a closed port are unknown', async () => {
  await using broken = await serving({ status: 500 })
  await expect(ask(httpProbe({ name: 'slo', url: broken.url }))).rejects.toThrow('500')
  await using hanging = await serving({ status: 200, hang: true })
  await expect(ask(httpProbe({ name: 'slo', url: hanging.url, timeout: '50ms' }))).rejects.toThrow()
  await expect(ask(httpProbe({ name: 'slo', url: 'http://127.0.0.1:1' }))).rejects.toThrow()
})

test.each([
  ['a vector of one', vector('0.25'), 0.25],
  ['a scalar', { data: { resultType: 'scalar', result: [1, '7'] } }, 7],
  ['nothing', vector(), undefined],
  ['several', vector('1', '2'), undefined],
  ['no number', vector('NaN'), undefined],
  ['nonsense', 'oops', undefined],
])('Prometheus gives %s', async (_, body, value) => {
  await using server = await serving({ status: 200, body })
  const answer = ask(prometheusProbe({ name: 'p95', url: server.url, query: 'up', soft: 1, hard: 2 }))
  if (value === undefined) await expect(answer).rejects.toThrow()
  else expect(await answer).toEqual({ value })
})

test.each([
  ['a probe without a name', () => defineProbe({ name: '', soft: 1, hard: 2, read: () => 1 }), 'name'],
  ['limits that are equal', () => defineProbe({ name: 'a', soft: 1, hard: 1, read: () => 1 }), 'soft limit'],
  [
    'an option that does not exist',
    () => defineProbe({ name: 'a', sof: 1, soft: 1, hard: 2, read: () => 1 } as never),
    'Did you mean "soft"',
  ],
  ['no function', () => defineProbe({ name: 'a', soft: 1, hard: 2 } as never), 'read'],
  ['an address of another kind', () => httpProbe({ name: 'a', url: 'file:///etc/passwd' }), 'http'],
  ['no query', () => prometheusProbe({ name: 'a', url: 'http://localhost', query: ' ', soft: 1, hard: 2 }), 'query'],
  ['a time limit of an hour', () => httpProbe({ name: 'a', url: 'http://localhost', timeout: '1h' }), 'timeout'],
])('%s is refused at once', (_, define, word) => {
  expect(define).toThrow(word)
})
