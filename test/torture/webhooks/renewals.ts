/** The inbox of the torture as module text; each renewal leaves one row, and the pause is where workers die. */
export function renewalsText({ pauseMs }: { pauseMs: number }): string {
  return `
const anything = { '~standard': { version: 1, vendor: 'torture', validate: (value) => ({ value }) } }
const renewals = defineInbox({
  name: 'renewals',
  payload: anything,
  key: ({ transactionId, uuid }) => [transactionId, uuid],
  queue: 'billing',
  retry: { attempts: 200, wait: '150ms' },
  async perform({ payload, tx, log }) {
    await tx.query('insert into creator_subscriptions (transaction_id, uuid) values ($1, $2)', [payload.transactionId, payload.uuid])
    log('written')
    await new Promise((resolve) => setTimeout(resolve, ${pauseMs} * (0.5 + Math.random())))
  },
})
const inboxes = [renewals]
`
}

/** Without any constraint: what is doubled shall be seen. */
export const tables = 'create table creator_subscriptions (transaction_id text not null, uuid text not null)'
