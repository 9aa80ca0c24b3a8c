import { expect, inject, test } from 'vitest'
import { openDatabase } from '../../src/store/database.ts'
import type { Pooler } from '../../src/store/pooler.ts'
import { startFaultProxy, type FaultProxy } from '../support/fault-proxy/index.ts'

const timeouts = { statementMs: 500, lockMs: 300, idleInTransactionMs: 700 }

async function proxied(): Promise<{ proxy: FaultProxy; url: string } & AsyncDisposable> {
  const upstream = new URL(inject('clusterUrl'))
  const proxy = await startFaultProxy({ host: upstream.hostname, port: Number(upstream.port) })
  return { proxy, url: proxy.url(inject('clusterUrl')), [Symbol.asyncDispose]: () => proxy.stop() }
}

async function pooledBy(url: string, pooler?: Pooler): Promise<boolean> {
  await using database = await openDatabase({ url, schema: 'sluice', timeouts, workSize: 1, ...(pooler && { pooler }) })
  return database.pooled
}

test('a direct connection is not taken for a pooler, nor is a proxy that changes nothing', async () => {
  expect(await pooledBy(inject('clusterUrl'))).toBe(false)
  await using at = await proxied()
  expect(await pooledBy(at.url)).toBe(false)
})

test('a pooler is recognized by the key that it gives, also where each client seems to have a server to itself', async () => {
  await using at = await proxied()
  at.proxy.pooling('session', { backends: 9 })
  expect(await pooledBy(at.url)).toBe(true)
})

test('a pooler that passes the keys of the server on is recognized by sessions that are shared', async () => {
  await using at = await proxied()
  at.proxy.pooling('transaction', { backends: 2, keys: 'server' })
  expect(await pooledBy(at.url)).toBe(true)
})

test('sessions that the server ends because they were idle are asked for again', async () => {
  await using at = await proxied()
  using ended = at.proxy.answer('57P05', { to: /pg_backend_pid/, times: 3 })
  expect(await pooledBy(at.url)).toBe(false)
  expect(ended.hits).toBe(3)
})

test('a server that ends each session at once is not asked for ever', async () => {
  await using at = await proxied()
  using ended = at.proxy.answer('57P05', { to: /pg_backend_pid/ })
  await expect(pooledBy(at.url)).rejects.toMatchObject({ code: '57P05' })
  expect(ended.hits).toBe(20)
})

test('the configuration overrules what was found', async () => {
  expect(await pooledBy(inject('clusterUrl'))).toBe(false)
  expect(await pooledBy(inject('clusterUrl'), 'transaction')).toBe(true)
  await using at = await proxied()
  at.proxy.pooling('session', { backends: 9 })
  expect(await pooledBy(at.url)).toBe(true)
  expect(await pooledBy(at.url, 'none')).toBe(false)
})

test.each(['auto', 'transaction'] as const)(
  'a pooler in statement mode is refused; configured as %s',
  async (pooler) => {
    await using at = await proxied()
    at.proxy.pooling('statement', { backends: 2 })
    await expect(pooledBy(at.url, pooler)).rejects.toMatchObject({
      code: 'POOLER_MODE',
      message: expect.stringContaining('pool_mode = transaction'),
    })
  },
)
