// Servers that refuse to tell where their log is, as Aurora does, and roles that may not ask.
import sql from 'sql-template-tag'
import { expect, test } from 'vitest'
import { backfill, defineOperation } from '../../src/index.ts'
import { runBatch } from '../../src/operations/batch-loop.ts'
import { startFaultProxy, type LinkInfo } from '../support/fault-proxy/index.ts'
import { silence } from '../support/silent-server.ts'
import { alone } from '../support/worker.ts'
import { counters, ended, patient, working } from '../support/working.ts'
import { claimFirst } from './claimed.ts'

const shape = { table: 'counters', batchSize: 400, subBatchSize: 100 } as const
const inOne = backfill({ ...shape, name: 'in-one', set: { done: sql`true` } })
const inTransaction = defineOperation({
  ...shape,
  name: 'in-transaction',
  perform: ({ batch }) => batch.update(sql`n = n + 1`),
})

test.each(['55000', '0A000', '42501'] as const)(
  'operations run on a server that refuses to tell where its log is (%s), and say once what is not watched',
  async (code) => {
    await using db = await counters(1_000)
    await silence(db, code)
    // All probes but those that other tests disturb.
    const { sluice, events } = working(db, [inOne, inTransaction], { ...patient, governor: alone })
    await using _ = sluice
    await sluice.start()
    for (const definition of [inOne, inTransaction]) {
      const { id } = await sluice.operations.start(definition)
      expect(await ended(sluice, id)).toMatchObject({ state: 'finished', rowsChanged: 1_000 })
    }
    expect(await db.value('select count(*)::int from counters where n <> 1 or not done')).toBe(0)
    const blind = events.payloads('probe.blind').filter(({ reason }) => reason.includes('refuses to tell'))
    expect(blind.map(({ probe }) => probe)).toContain('archive')
    expect(new Set(blind.map(({ probe }) => probe)).size).toBe(blind.length)
    expect(events.count('operation.held')).toBe(0)
    expect(await sluice.operations.plan(inTransaction.name, undefined, { dryRun: true })).toMatchObject({
      dryRun: { outcome: 'rolled back' },
    })
  },
)

const on =
  (purpose: string) =>
  ({ applicationName }: LinkInfo): boolean =>
    applicationName === `sluice ${purpose}`

test('a doubt that the database does not clear holds the operation, with the reason', async () => {
  await using db = await counters(100)
  const { hostname: host, port } = new URL(db.url)
  await using proxy = await startFaultProxy({ host, port: Number(port) })
  await using claimed = await claimFirst(db, inTransaction, proxy.url(db.workerUrl))
  proxy.dropAnswerTo(/^commit/i, { which: on('work'), times: 1, ending: 'rst' })
  const refusing = proxy.answer('55000', { to: /as wanted/, which: on('control') })
  await runBatch(claimed.run)
  expect(refusing.hits).toBeGreaterThan(1)
  expect(claimed.events.payloads('operation.held')).toMatchObject([
    { reason: expect.stringContaining('how far batch 1 is cannot be told: injected error 55000') },
  ])
  expect(await db.value('select state from sluice.batch')).toBe('ready')
})
