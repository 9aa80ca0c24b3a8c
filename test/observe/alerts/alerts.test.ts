import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { describe, expect, test } from 'vitest'
import { signatureOf } from '../../../src/observe/alerts/webhook.ts'
import { Sluice, type SluiceConfig } from '../../../src/index.ts'
import { count } from '../../../src/observe/samples/histogram.ts'
import { testDatabase, type TestDatabase } from '../../support/database.ts'
import { EventLog } from '../../support/events.ts'
import { cert, key } from './certificate.ts'

interface Watched extends AsyncDisposable {
  db: TestDatabase
  sluice: Sluice
  events: EventLog
}

async function watched(alerts: SluiceConfig['alerts'] = {}): Promise<Watched> {
  const db = await testDatabase()
  const sluice = new Sluice({ database: db.workerUrl, alerts })
  const events = new EventLog()
  sluice.onAny((event) => events.push(event))
  const close = async (): Promise<void> => {
    await sluice.stop()
    await db[Symbol.asyncDispose]()
  }
  return { db, sluice, events, [Symbol.asyncDispose]: close }
}

/**
 * Lets time pass in the table: what is there becomes ten seconds older, and a sample of the present is added. The clock
 * is the samples', so that a test of half an hour takes as long as its statements.
 */
async function pass(db: TestDatabase, { depth, waitMs }: { depth: number; waitMs: number }): Promise<void> {
  const wait: number[] = []
  count(wait, waitMs, 20)
  await db.query('create table if not exists past (n serial, wait bigint[], depth bigint, oldest bigint)')
  const now = [wait, Math.round(depth), Math.round(waitMs)]
  await db.query('insert into past (wait, depth, oldest) values ($1, $2, $3)', now)
  await db.query('delete from sluice.queue_sample_10s')
  await db.query(
    `insert into sluice.queue_sample_10s (queue, at, started, wait, depth, oldest_ms)
     select 'billing', date_bin('10 seconds', now(), 'epoch') - (max(n) over () - n) * interval '10 seconds', 20, wait, depth, oldest
     from past order by n desc limit 35`,
  )
}

const rules = (events: EventLog, name: 'alert.fired' | 'alert.cleared'): string[] =>
  events.payloads(name).map(({ rule }) => rule)

describe('a queue that grows by ten percent a minute', () => {
  test('is told by its slope before any limit, by the trend before the wait is too long, and both clear', async () => {
    await using at = await watched({ queues: { billing: { depth: 20_000, wait: '5m' } } })
    await at.db.query(`select sluice.create_partition('queue_sample_10s', (now() at time zone 'UTC')::date - 1, 1)`)
    const firedAt = new Map<string, { minute: number; depth: number; waitMs: number }>()
    for (let n = 0; n < 6 * 12; n++) {
      const minute = n / 6
      const [depth, waitMs] = [5_000 * 1.1 ** minute, 30_000 * 1.15 ** minute]
      await pass(at.db, { depth, waitMs })
      await at.sluice.alerts.judge()
      for (const rule of rules(at.events, 'alert.fired')) {
        if (!firedAt.has(rule)) firedAt.set(rule, { minute, depth, waitMs })
      }
    }
    expect(firedAt.get('queue-growth')?.depth).toBeLessThan(20_000)
    expect(firedAt.get('queue-growth')?.minute).toBeLessThan(6)
    expect(firedAt.get('queue-wait-trend')?.waitMs).toBeLessThan(300_000)
    expect(firedAt.has('queue-depth')).toBe(false)
    expect(firedAt.has('queue-wait')).toBe(false)
    expect((await at.sluice.alerts.list()).map(({ rule }) => rule).toSorted()).toEqual([
      'queue-growth',
      'queue-wait-trend',
    ])
    // More workers come: it drains.
    for (let n = 0; n < 6 * 9; n++) {
      await pass(at.db, { depth: 15_000 * 0.9 ** (n / 6), waitMs: 150_000 * 0.7 ** (n / 6) })
      await at.sluice.alerts.judge()
    }
    expect(rules(at.events, 'alert.cleared').toSorted()).toEqual(['queue-growth', 'queue-wait-trend'])
    expect(rules(at.events, 'alert.fired').toSorted()).toEqual(['queue-growth', 'queue-wait-trend'])
    expect(await at.sluice.alerts.list()).toEqual([])
    expect(await at.sluice.alerts.list({ all: true })).not.toEqual([])
  })
})

test('of several processes that judge at once one tells', async () => {
  await using at = await watched({ queues: { all: { depth: 10 } } })
  await using other = new Sluice({ database: at.db.workerUrl, alerts: { queues: { all: { depth: 10 } } } })
  other.onAny((event) => at.events.push(event))
  await pass(at.db, { depth: 50, waitMs: 1 })
  for (let n = 0; n < 6; n++) await Promise.all([at.sluice, other].map(({ alerts }) => alerts.judge()))
  expect(rules(at.events, 'alert.fired')).toEqual(['queue-depth'])
})

test('a check looks at queues by itself, without a worker', async () => {
  await using at = await watched({ queues: { all: { wait: '1s' } } })
  await at.db.query(`select sluice.enqueue('[{"job":"a","queue":"mail","args":{}}]', false, false)`)
  await at.db.query(`update sluice.job set run_at = now() - interval '1 hour'`)
  await at.sluice.alerts.check()
  const alerts = await at.sluice.alerts.check()
  expect(alerts).toMatchObject([{ rule: 'queue-wait', subject: 'mail', firing: true, severity: 'critical' }])
})

describe('a webhook', () => {
  interface Received {
    body: string
    signature: string
  }

  /** A receiver that answers with these statuses, and then with 200. */
  async function receiver(statuses: number[]): Promise<{ url: string; received: Received[] } & AsyncDisposable> {
    const received: Received[] = []
    const server = createServer({ key, cert }, (request, response) => {
      const chunks: Buffer[] = []
      request.on('data', (chunk: Buffer) => chunks.push(chunk))
      request.on('end', () => {
        const body = Buffer.concat(chunks).toString()
        received.push({ body, signature: String(request.headers['sluice-signature']) })
        response.writeHead(statuses.shift() ?? 200, { location: '/elsewhere' }).end()
      })
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as AddressInfo
    const close = (): Promise<void> => new Promise((resolve) => void server.close(() => resolve()))
    return { url: `https://localhost:${port}/hook`, received, [Symbol.asyncDispose]: close }
  }

  const secret = 'a secret of some length'
  const webhookOf = (url: string, inside: boolean) => ({
    queues: { all: { depth: 10 } },
    webhook: { url, secret, allow: ['localhost'], private: inside, ca: cert },
  })

  test('is told once when all goes well, signed', async () => {
    await using hook = await receiver([])
    await using at = await watched(webhookOf(hook.url, true))
    await pass(at.db, { depth: 50, waitMs: 1 })
    for (let n = 0; n < 4; n++) await at.sluice.alerts.judge()
    expect(hook.received).toHaveLength(1)
    const [{ body, signature } = { body: '', signature: '' }] = hook.received
    expect(JSON.parse(body)).toMatchObject({ rule: 'queue-depth', subject: 'billing', firing: true })
    const seconds = Number(/^t=(\d+),/.exec(signature)?.[1])
    expect(signature).toBe(signatureOf(secret, seconds, body))
    expect(signatureOf('another secret of some length', seconds, body)).not.toBe(signature)
  })

  test('is told again after a failure, with the same id, and a redirect is one', async () => {
    await using hook = await receiver([500, 302])
    await using at = await watched(webhookOf(hook.url, true))
    await pass(at.db, { depth: 50, waitMs: 1 })
    for (let n = 0; n < 5; n++) {
      await at.sluice.alerts.judge()
      await at.db.query(`update sluice.alert set telling_at = telling_at - interval '2 minutes'`)
    }
    expect(hook.received).toHaveLength(3)
    expect(new Set(hook.received.map(({ body }) => (JSON.parse(body) as { id: string }).id)).size).toBe(1)
    expect(at.events.payloads('warning').map(({ message }) => message)).toEqual([
      expect.stringContaining('answered with 500'),
      expect.stringContaining('answered with 302'),
    ])
  })

  test('hears of the end when it may have heard of the beginning, although nobody knows', async () => {
    // Taken, and the answer was not understood: who told of it does not know that it was heard.
    await using hook = await receiver([500])
    await using at = await watched(webhookOf(hook.url, true))
    await pass(at.db, { depth: 50, waitMs: 1 })
    for (let n = 0; n < 3; n++) await at.sluice.alerts.judge()
    expect(hook.received).toHaveLength(1)
    // Within the minute in which nobody else tries, all is well again.
    for (let n = 0; n < 40; n++) {
      await pass(at.db, { depth: 1, waitMs: 1 })
      await at.sluice.alerts.judge()
    }
    expect(rules(at.events, 'alert.cleared')).toEqual(['queue-depth'])
    expect(hook.received.map(({ body }) => (JSON.parse(body) as { firing: boolean }).firing)).toEqual([true, false])
  })

  test('calls no address inside unless that is allowed', async () => {
    await using hook = await receiver([])
    for (const url of [hook.url, hook.url.replace('localhost', '127.0.0.1')]) {
      const config = webhookOf(url, false)
      await using at = await watched({ ...config, webhook: { ...config.webhook, allow: ['localhost', '127.0.0.1'] } })
      await pass(at.db, { depth: 50, waitMs: 1 })
      for (let n = 0; n < 3; n++) await at.sluice.alerts.judge()
      expect(at.events.payloads('warning')[0]?.message).toContain(
        'is an address of a private network or of this machine',
      )
    }
    expect(hook.received).toEqual([])
  })
})
