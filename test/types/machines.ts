import { again, defineMachine, defineJob, defineReconciler, sql } from '../../src/index.ts'
import { z } from 'zod'

/** What defineMachine infers: the work of a state gives one of the states that its `to` names, or stays. */
export const good = defineMachine({
  name: 'good',
  table: 'orders',
  states: {
    pending: { to: 'paid', perform: async ({ row, idempotencyKey }) => void [row['id'], idempotencyKey.length] },
    paid: { to: ['sent', 'lost'], perform: async ({ row }) => (row['lost'] === true ? 'lost' : 'sent') },
    sent: {
      to: ['done', 'lost'],
      delay: '30m',
      transaction: true,
      async perform({ tx, key }) {
        const { rows } = await tx.query('select 1 from parcels where id = $1', [key])
        return rows.length === 0 ? again({ in: '1m' }) : 'done'
      },
    },
    done: {},
    lost: {},
  },
})

export const bad = defineMachine({
  name: 'bad',
  table: 'orders',
  states: {
    // @ts-expect-error the next state is not one of its `to`
    pending: { to: 'paid', perform: async () => 'sent' },
    // @ts-expect-error with two ways on, one must be named
    paid: { to: ['sent', 'lost'], perform: async () => undefined },
    // @ts-expect-error there is no transaction in which to do it
    sent: { to: 'lost', perform: async ({ tx }) => void tx },
    lost: {},
  },
})

const job = defineJob({
  name: 'job',
  args: z.object({ id: z.number() }),
  unique: {},
  transaction: true,
  lock: { table: 'orders', key: (args) => args.id },
  guard: ({ args, row }) => args.id > 0 && row?.['state'] === 'pending',
  perform: async () => undefined,
})

const find = { table: 'orders', where: sql`state = 'pending'`, olderThan: '1m', by: 'created_at' } as const
defineReconciler({ name: 'good', find, job, args: (row) => ({ id: Number(row['id']) }) })
// @ts-expect-error the args do not fit the job
defineReconciler({ name: 'bad', find, job, args: (row) => ({ id: String(row['id']) }) })
