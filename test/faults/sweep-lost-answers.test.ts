import { expect, test } from 'vitest'
import { startFaultProxy } from '../support/fault-proxy/index.ts'
import { until } from '../support/wait.ts'
import { expirePastes, ownColumns, pastes, sweeping } from '../patterns/sweeps/pastes.ts'

const releases = { table: 'contents', key: 'id', count: 'ref_count', by: 'content_id' } as const

test.each([
  ['in columns of the row', ownColumns],
  ['in our own table', 'table' as const],
])('with claims %s, a COMMIT whose answer is lost neither leaves rows behind nor releases twice', async (_, claim) => {
  await using db = await pastes(60)
  const upstream = new URL(db.workerUrl)
  await using proxy = await startFaultProxy({ host: upstream.hostname, port: Number(upstream.port) })
  const keys = new Map<string, Set<string>>()
  const sweep = expirePastes({
    claim,
    releases,
    batch: 5,
    effect({ row: { short_code: code }, idempotencyKey }) {
      keys.set(code, (keys.get(code) ?? new Set()).add(idempotencyKey))
    },
  })
  // The lease outlasts the test: what the worker does not know of, it must find by itself.
  const worker = { lease: '1h', poll: '50ms', stop: '2s' } as const
  await using at = sweeping(db, [sweep], { database: proxy.url(db.workerUrl), worker })
  const rule = proxy.dropAnswerTo(/^commit/i, { times: 5, ending: 'rst' })
  await at.sluice.start()
  await until('all are gone', async () => (await db.value<number>('select count(*)::int from pastes')) === 1, 60_000)
  await until('no claim is left', async () => {
    return (await db.value<number>('select count(*)::int from sluice.sweep_claim')) === 0
  })
  expect(rule.hits).toBe(5)
  expect(await db.value('select ref_count from contents')).toBe(1)
  expect([...keys.values()].map(({ size }) => size)).toEqual(Array.from({ length: 60 }, () => 1))
})

test.each([
  ['counts a silent worker as dead', false, { crashes: 5, quarantined: true }],
  ['blames no row after an outage, in which all were silent', true, { crashes: 4, quarantined: false }],
])('who takes rows over %s', async (_, outage, left) => {
  await using db = await pastes(1)
  const upstream = new URL(db.workerUrl)
  await using proxy = await startFaultProxy({ host: upstream.hostname, port: Number(upstream.port) })
  await db.query(`insert into sluice.sweep_claim (sweep, key, generation, nonce, worker_id, claimed_at, crashes)
    values ('expire-pastes', '{p1}', gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), now() - interval '2 hours', 4)`)
  const sweep = expirePastes({ claim: 'table', effect: () => Promise.reject(new Error('not now')) })
  const worker = { lease: '1h', poll: '50ms', stop: '2s' } as const
  await using at = sweeping(db, [sweep], { database: proxy.url(db.workerUrl), worker })
  const lost = outage ? proxy.answer('57P01', { to: /held_reason/, times: 1 }) : undefined
  await at.sluice.start()
  await at.events.event(outage ? 'sweep.failed' : 'sweep.quarantined')
  expect(lost?.hits ?? 1).toBe(1)
  const [row] = await db.query('select crashes::int, quarantined_at is not null as quarantined from sluice.sweep_claim')
  expect(row).toEqual(left)
})
