import { z } from 'zod'
import { defineJob, defineMachine, defineOperation, defineSchedule, discardOn, retryOn, sql } from '../../src/index.ts'

const rest = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

/** The large operation hurries through its first part, and then goes at the pace of a database with other work. */
export const hurry = { on: true }

export const expireEvents = defineOperation({
  name: 'expire-events',
  table: 'events',
  batchSize: 2_000,
  subBatchSize: 200,
  lanes: 2,
  scope: () => sql`kind <> 'order'`,
  perform: async ({ batch }) => {
    if (!hurry.on) await rest(130 + Math.random() * 80)
    if (Math.random() < 0.003) throw new Error('deadlock detected')
    return batch.delete()
  },
})

export const anonymise = defineOperation({
  name: 'anonymise-customers',
  table: 'customers',
  args: z.object({
    inactiveSince: z.iso.date().describe('Customers who have not been seen since this day'),
    keepCountry: z.boolean().optional(),
    reason: z.enum(['request', 'retention', 'test']).describe('Why they are anonymised'),
    most: z.number().int().optional().describe('At most so many'),
  }),
  batchSize: 500,
  subBatchSize: 50,
  scope: ({ args }) => sql`seen_at < ${args.inactiveSince}::date`,
  perform: async ({ batch }) => {
    await rest(30)
    return batch.update(sql`name = 'anonymous', email = null`)
  },
})

export const backfillTotals = defineOperation({
  name: 'backfill-order-totals',
  table: 'invoices',
  batchSize: 2_000,
  perform: ({ batch }) => batch.update(sql`total = net * 1.19`),
})

export const convertCarts = defineOperation({
  name: 'convert-carts',
  table: 'carts',
  batchSize: 200,
  subBatchSize: 50,
  perform: ({ batch }) => batch.update(sql`amount = content::numeric`),
})

export const archiveInvoices = defineOperation({
  name: 'archive-invoices',
  table: 'invoices',
  approval: true,
  conflicts: 'none',
  perform: ({ batch }) => batch.update(sql`archived = true`),
})

/** Started by a release that is not there any more, so no worker knows it. */
export const rebuildSearch = defineOperation({
  name: 'rebuild-search',
  table: 'customers',
  conflicts: 'none',
  perform: ({ batch }) => batch.update(sql`name = name`),
})

class CardDeclined extends Error {
  override name = 'CardDeclined'
}
class MailboxFull extends Error {
  override name = 'MailboxFull'
}

export const chargeCard = defineJob({
  name: 'charge-card',
  queue: 'billing',
  args: z.object({ order: z.number().int(), amount: z.number(), card: z.string() }),
  redact: ['args.card'],
  onError: [retryOn(CardDeclined, { attempts: 2, wait: '200ms' }), retryOn(Error, { attempts: 1 })],
  perform: async ({ args: { order } }) => {
    await rest(20 + (order % 7) * 15)
    if (order % 29 === 0) throw new CardDeclined(`card of order ${order} was declined with code ${51 + (order % 2)}`)
    if (order % 41 === 0)
      throw Object.assign(new Error('connect ECONNREFUSED 10.0.4.17:8443'), { code: 'ECONNREFUSED' })
  },
})

export const sendMail = defineJob({
  name: 'send-mail',
  queue: 'mail',
  args: z.object({ to: z.number().int() }),
  onError: [discardOn(MailboxFull)],
  perform: async ({ args: { to } }) => {
    await rest(10 + (to % 5) * 8)
    if (to % 37 === 0) throw new MailboxFull(`the mailbox of customer ${to} is full`)
  },
})

export const resizeImage = defineJob({
  name: 'resize-image',
  queue: 'images',
  args: z.object({ image: z.number().int() }),
  concurrency: { limit: 2, key: ({ image }) => `album:${image % 3}` },
  perform: () => rest(400),
})

export const syncCustomer = defineJob({
  name: 'sync-customer',
  queue: 'crm',
  args: z.object({ customer: z.number().int() }),
  onError: [retryOn(Error, { attempts: 1 })],
  perform: async ({ args: { customer } }) => {
    await rest(60)
    if (customer % 23 === 0) throw new TypeError("Cannot read properties of undefined (reading 'email')")
    if (customer % 31 === 0) throw new Error(`the CRM answered 503 for customer ${customer}`)
  },
})

/** Keeps a worker busy for as long as the pictures take. */
export const exportReport = defineJob({ name: 'export-report', queue: 'reports', perform: () => rest(60_000) })

export const schedules = [
  defineSchedule({
    name: 'nightly-expiry',
    cron: '30 3 * * *',
    zone: 'Europe/Berlin',
    window: '00:00-06:00 Europe/Berlin',
    operation: expireEvents,
  }),
  defineSchedule({ name: 'reminder-mails', every: '15m', job: sendMail, args: { to: 1 } }),
  defineSchedule({ name: 'monthly-report', cron: '0 9 1 * *', zone: 'UTC', job: exportReport }),
  defineSchedule({ name: 'crm-sync', cron: '*/20 * * * *', zone: 'UTC', job: exportReport }),
]

export const order = defineMachine({
  name: 'order',
  table: 'orders',
  states: {
    placed: { to: ['paid', 'cancelled'], delay: '1 day', perform: async () => 'paid' },
    paid: { to: ['packing'], delay: '1 day', perform: async () => 'packing' },
    packing: { to: ['sent', 'out_of_stock'], delay: '1 day', perform: async () => 'sent' },
    out_of_stock: { to: ['packing', 'refunded'], delay: '1 day', perform: async () => 'packing' },
    sent: { to: ['delivered', 'returned'], delay: '1 day', perform: async () => 'delivered' },
    returned: { to: ['refunded'], delay: '1 day', perform: async () => 'refunded' },
    delivered: {},
    refunded: {},
    cancelled: {},
  },
})
