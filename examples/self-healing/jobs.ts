import { z } from 'zod'
// In your own project this line is: import { defineJob } from 'sluice'
import { defineJob } from '../../src/index.ts'

/** Activates an account that is still pending. Safe to run twice, also at the same time. */
export const activateAccount = defineJob({
  name: 'activate-account',
  args: z.object({ accountId: z.number().int() }),
  // The queue holds one per account.
  unique: { for: '10m', until: 'start' },
  transaction: true,
  async perform({ args: { accountId }, tx }) {
    // Who comes second waits here, and then sees what the first one did.
    const { rows } = await tx.query('select state from accounts where id = $1 for update', [accountId])
    if (rows[0]?.['state'] !== 'pending') return
    await tx.query(`update accounts set state = 'active', credits = credits + 100 where id = $1`, [accountId])
  },
})

/** Enqueues what is pending for longer than it should be, whatever became of its job. */
export const reconcileAccounts = defineJob({
  name: 'reconcile-accounts',
  unique: { for: '1m', until: 'start' },
  retry: false,
  transaction: true,
  async perform({ tx, enqueue }) {
    const { rows } = await tx.query(
      `select id::int as "accountId"
       from accounts
       where state = 'pending' and created_at < now() - interval '1 minute'
       order by created_at
       limit 1000`,
      [],
    )
    for (const account of rows as { accountId: number }[]) await enqueue(activateAccount, account)
  },
})
