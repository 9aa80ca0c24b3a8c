// In your own project this line is: import { again, defineMachine } from 'sluice'
import { again, defineMachine } from '../../src/index.ts'
import { appStore } from './store.ts'

/** An app on its way into the store: one row, one state, one job per transition. */
export const submissions = defineMachine({
  name: 'app-submission',
  table: 'submissions',
  stuckAfter: '10m',
  states: {
    pending: {
      to: ['validated', 'rejected'],
      // Nothing but the database: the check, what it found and the transition commit together.
      transaction: true,
      async perform({ row, key, tx }) {
        if (row['title'] !== '') return 'validated'
        await tx.query('update submissions set problem = $2 where id = $1', [key, 'it has no title'])
        return 'rejected'
      },
    },
    validated: {
      to: 'binary_uploaded',
      timeout: '30m',
      perform: async ({ row, idempotencyKey }) => appStore.upload(String(row['binary_path']), idempotencyKey),
    },
    binary_uploaded: {
      to: 'submitted',
      perform: async ({ row, idempotencyKey }) => appStore.submit(String(row['title']), idempotencyKey),
    },
    submitted: {
      to: ['in_review', 'approved'],
      delay: '30m',
      async perform({ row }) {
        const verdict = await appStore.review(String(row['title']))
        if (verdict === 'waiting') return again()
        return verdict === 'approved' ? 'approved' : 'in_review'
      },
    },
    in_review: {
      to: 'approved',
      delay: '30m',
      async perform({ row }) {
        if ((await appStore.review(String(row['title']))) !== 'approved') return again()
      },
    },
    approved: {},
    rejected: {},
  },
})
