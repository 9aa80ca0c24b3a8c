import { mkdtemp, chmod, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { startEmbedded } from '../../src/embedded/index.ts'
import { planned, Sluice } from '../../src/index.ts'
import { dayPast, hosts, operationPast, surroundingsPast, tables } from './past.ts'
import * as shop from './shop.ts'

/** A shop at work, on a database of its own. */
export interface ShopPlace extends AsyncDisposable {
  sluice: Sluice
  /** The operation that runs, one that ended with quarantined rows, and a job that failed. */
  ids: { running: string; quarantined: string; job: number; batch: number }
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

async function until(what: string, holds: () => Promise<boolean>): Promise<void> {
  for (const end = Date.now() + 300_000; !(await holds()); await pause(200)) {
    if (Date.now() > end) throw new Error(`The place is not ready: ${what}`)
  }
}

/** Makes the place: tables, workers, and a day of work in a minute. */
export async function openShop(say: (line: string) => void): Promise<ShopPlace> {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-screenshots-'))
  await chmod(folder, 0o755)
  const server = await startEmbedded({ dataDir: join(folder, 'postgres') })
  const { url } = server
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const crew = [1, 2, 3].map((n) => workerOf(url, n))
  let feeding: NodeJS.Timeout | undefined
  const dispose = async (): Promise<void> => {
    clearInterval(feeding)
    await Promise.all(crew.map((one) => one.stop()))
    await client.end()
    await server.stop('immediate')
    await rm(folder, { recursive: true, force: true, maxRetries: 3 })
  }
  const [first] = crew
  if (first === undefined) throw new Error('no worker')
  try {
    await first.migrate()
    say('filling tables')
    await client.query(tables)
    for (const one of crew) await one.start()
    say('working')
    feeding = setInterval(() => void feed(first).catch(() => undefined), 1_000)
    const ids = await work({ sluice: first, client, url })
    return { sluice: first, ids, [Symbol.asyncDispose]: dispose }
  } catch (error) {
    await dispose()
    throw error
  }
}

function workerOf(url: string, n: number): Sluice {
  return new Sluice({
    database: url,
    operations: [shop.expireEvents, shop.anonymise, shop.backfillTotals, shop.convertCarts, shop.archiveInvoices],
    jobs: [shop.chargeCard, shop.sendMail, shop.resizeImage, shop.syncCustomer, shop.exportReport],
    schedules: shop.schedules,
    machines: [shop.order],
    worker: { concurrency: 2, jobs: { concurrency: 6 * n, poll: '200ms' } },
    alerts: { queues: { images: { depth: 500 } } },
  })
}

interface Shop {
  sluice: Sluice
  client: pg.Client
  url: string
}

async function work(place: Shop): Promise<ShopPlace['ids']> {
  const { sluice, client } = place
  const running = await sluice.operations.start(shop.expireEvents, undefined, { actor: 'ada@shop.example' })
  const batch = await startJobs(sluice)
  const quarantined = await otherOperations(place)
  const seen = async (): Promise<number> => (await sluice.operations.get(running.id)).rowsSeen
  await until('the first part is walked', async () => (await seen()) > 1_150_000)
  shop.hurry.on = false
  // What was counted in a hurry is written by then.
  await pause(22_000)
  await client.query(hosts)
  await client.query(dayPast)
  const { progress = 0 } = await sluice.operations.get(running.id)
  for (const text of operationPast.split(';\n').filter((one) => one.trim() !== '')) {
    await client.query(text, text.includes('$2') ? [running.id, progress] : [running.id])
  }
  await client.query(surroundingsPast)
  await pause(13_000)
  const dead = await sluice.jobs.list({ states: ['dead'], name: 'charge-card' })
  const job = dead.jobs.find(({ attempt }) => attempt > 1)
  return { running: running.id, quarantined, job: job?.id ?? 0, batch }
}

const numbers = (n: number): number[] => [...Array(n).keys()].map((i) => i + 1)

let fed = 0
/** Customers who come and go. */
async function feed({ jobs }: Sluice): Promise<void> {
  const some = [...Array(8).keys()].map((n) => 48_000 + fed + n)
  fed += some.length
  await jobs.enqueueMany(
    shop.chargeCard,
    some.map((order) => ({ order, amount: 20, card: '4111' })),
    { tags: ['checkout'] },
  )
  await jobs.enqueueMany(
    shop.sendMail,
    some.map((to) => ({ to })),
  )
  await jobs.enqueueMany(
    shop.syncCustomer,
    some.slice(0, 3).map((customer) => ({ customer })),
  )
}

async function startJobs(sluice: Sluice): Promise<number> {
  await sluice.queues.pause('images', {
    actor: 'grace@shop.example',
    reason: 'the image store is read-only until noon',
  })
  await sluice.queues.limit(
    'mail',
    { limit: 600, per: '1m' },
    { actor: 'ada@shop.example', reason: 'contract with the provider' },
  )
  await sluice.jobs.enqueueMany(
    shop.chargeCard,
    numbers(240).map((i) => ({ order: 48_200 + i, amount: 10 + i, card: `4111-${i}` })),
    { tags: ['checkout'] },
  )
  await sluice.jobs.enqueueMany(
    shop.sendMail,
    numbers(300).map((to) => ({ to })),
  )
  await sluice.jobs.enqueueMany(
    shop.sendMail,
    numbers(40).map((to) => ({ to })),
    { in: '3h', tags: ['reminder'] },
  )
  await sluice.jobs.enqueueMany(
    shop.resizeImage,
    numbers(1_200).map((image) => ({ image })),
  )
  await sluice.jobs.enqueue(shop.exportReport)
  await sluice.schedules.disable('crm-sync', { actor: 'grace@shop.example', reason: 'the CRM is being migrated' })
  await sluice.batches.run(
    numbers(120).map((to) => planned(shop.sendMail, { to })),
    {
      description: 'newsletter of November',
      onComplete: planned(shop.exportReport),
    },
  )
  await sluice.batches.run(
    numbers(36).map((i) => planned(shop.chargeCard, { order: i, amount: 9.9, card: '4111' })),
    {
      description: 'monthly subscriptions',
    },
  )
  const album = await sluice.batches.open({ description: 'album 7' })
  await album.addMany(
    shop.resizeImage,
    numbers(60).map((image) => ({ image })),
  )
  return 2
}

async function otherOperations({ sluice, url }: Shop): Promise<string> {
  const { operations } = sluice
  const who = { actor: 'ada@shop.example' }
  const carts = await operations.start(shop.convertCarts, undefined, who)
  const totals = await operations.start(shop.backfillTotals, undefined, { actor: 'grace@shop.example' })
  await operations.wait(totals.id)
  await operations.wait(carts.id)
  await operations.start(shop.archiveInvoices, undefined, who)
  const paused = await operations.start(
    shop.anonymise,
    { inactiveSince: '2025-01-01', reason: 'retention' },
    { ...who, tenant: 'acme' },
  )
  const cancelled = await operations.start(shop.anonymise, { inactiveSince: '2024-06-01', reason: 'test' }, who)
  await operations.cancel(cancelled.id, { actor: 'grace@shop.example', reason: 'wrong day' })
  await until('customers are walked', async () => (await operations.get(paused.id)).rowsChanged > 500)
  await operations.pause(paused.id, { actor: 'grace@shop.example', reason: 'sale until Friday', source: 'dashboard' })
  await using old = new Sluice({ database: url, operations: [shop.rebuildSearch] })
  await old.operations.start(shop.rebuildSearch, undefined, { actor: 'deploy' })
  return carts.id
}
