import { createHmac } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Sluice } from '../../src/index.ts'
import { testJobs } from '../../src/testing/index.ts'
import { testDatabase, type TestDatabase } from '../../test/support/database.ts'
import { appleRenewals } from './inboxes.ts'
import { renewalServer } from './server.ts'
import config from './sluice.config.ts'

let db: TestDatabase
let sluice: Sluice
let servers: Server[]
let urls: string[]

beforeAll(async () => {
  db = await testDatabase()
  await db.query(await readFile(new URL('schema.sql', import.meta.url), 'utf8'))
  sluice = new Sluice({ ...config, database: db.workerUrl })
  servers = [renewalServer(sluice, 'secret'), renewalServer(sluice, 'secret')]
  for (const server of servers) await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  urls = servers.map((server) => `http://127.0.0.1:${(server.address() as AddressInfo).port}/apple`)
})

afterAll(async () => {
  for (const server of servers) {
    server.closeAllConnections()
    server.close()
  }
  await sluice.stop()
  await db[Symbol.asyncDispose]()
})

async function notify(nth: number, notification: object, secret = 'secret'): Promise<number> {
  const body = JSON.stringify(notification)
  const headers = { 'x-signature': createHmac('sha256', secret).update(body).digest('hex') }
  return (await fetch(urls[nth % urls.length] ?? '', { method: 'POST', body, headers })).status
}

const renewal = (n: number): object => ({
  originalTransactionId: `transaction-${n}`,
  notificationUuid: `uuid-${n}`,
  renewedUntil: '2030-01-01T00:00:00Z',
})

const subscriptions = (): Promise<number> => db.value('select count(*)::int from creator_subscriptions')

test('each notification, delivered up to six times, makes one subscription', async () => {
  const deliveries = Array.from({ length: 30 }, (_, n) => Array.from({ length: 1 + (n % 6) }, () => n)).flat()
  const answers = await Promise.all(deliveries.map((n, nth) => notify(nth, renewal(n))))
  expect(answers.filter((status) => status === 202)).toHaveLength(30)
  expect(answers.filter((status) => status === 200)).toHaveLength(deliveries.length - 30)
  await testJobs(sluice).drain()
  expect(await subscriptions()).toBe(30)

  expect(await notify(0, renewal(7))).toBe(200)
  await testJobs(sluice).drain()
  expect(await subscriptions()).toBe(30)
  expect(await sluice.inboxes.find(appleRenewals, ['transaction-7', 'uuid-7'])).toMatchObject({ state: 'processed' })
})

test('what Apple did not sign is not taken', async () => {
  expect(await notify(0, renewal(1_000), 'guessed')).toBe(401)
  expect(await sluice.inboxes.find(appleRenewals, ['transaction-1000', 'uuid-1000'])).toBeUndefined()
})
