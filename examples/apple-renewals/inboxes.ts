import { z } from 'zod'
// In your own project this line is: import { DeadlockDetected, defineInbox, polynomial, retryOn } from 'sluice'
import { DeadlockDetected, defineInbox, polynomial, retryOn } from '../../src/index.ts'

/** What Apple sends when a subscription was renewed, and sends again when it gets no answer in time. */
export const appleRenewals = defineInbox({
  name: 'apple-renewals',
  payload: z.object({
    originalTransactionId: z.string(),
    notificationUuid: z.string(),
    renewedUntil: z.iso.datetime(),
  }),
  // The unique index that keeps two workers from disagreeing.
  key: (payload) => [payload.originalTransactionId, payload.notificationUuid],
  queue: 'billing',
  onError: [retryOn(DeadlockDetected, { attempts: 5, wait: polynomial() })],
  async perform({ payload, tx }) {
    // This row and the mark that the notification is processed commit together.
    await tx.query('insert into creator_subscriptions (original_transaction_id, renewed_until) values ($1, $2)', [
      payload.originalTransactionId,
      payload.renewedUntil,
    ])
  },
})
