// Compiled, never run: the types of jobs, from the schema to the call.
import type pg from 'pg'
import { z } from 'zod'
import {
  cancel,
  defineConfig,
  defineJob,
  defineSchedule,
  discardOn,
  exponential,
  planned,
  retryOn,
  Sluice,
  snooze,
  type JobDefinition,
} from '../../src/index.ts'

const sluice = new Sluice()
const { jobs } = sluice

class CustomerGone extends Error {}

const stripeSync = defineJob({
  name: 'stripe-sync',
  args: z.object({ customerId: z.number().int(), since: z.iso.datetime().transform((text) => new Date(text)) }),
  onError: [retryOn(TypeError, 'ECONNRESET', { attempts: 6, wait: exponential() }), discardOn(CustomerGone)],
  unique: { for: '1h', until: 'start', key: ({ customerId }) => `customer:${customerId}` },
  concurrency: { limit: 1, key: ({ since }) => since.toISOString() },
  async perform({ args, job, enqueue, signal }) {
    const customerId: number = args.customerId
    const since: Date = args.since
    // @ts-expect-error the schema has no such property
    void args.customer
    if (signal.aborted) return cancel('too late')
    if (job.attempt > 3) return snooze('5m')
    await enqueue(stripeSync, { customerId, since: since.toISOString() })
    // @ts-expect-error the handler's own args are the output, which is not what enqueueing takes
    await enqueue(stripeSync, args)
    return undefined
  },
})

const sweep = defineJob({ name: 'sweep', perform: () => undefined })

const charge = defineJob({
  name: 'charge',
  transaction: true,
  args: z.object({ cents: z.number() }),
  async perform({ args, tx }) {
    await tx.query('update accounts set cents = cents - $1', [args.cents])
  },
})

export async function batches(tx: pg.PoolClient): Promise<void> {
  await sluice.batches.run([planned(charge, { cents: 1 }), planned(sweep)], { onSuccess: planned(sweep), tx })
  const open = await sluice.batches.open({ onDeath: planned(charge, { cents: 1 }, { priority: 'high' }) })
  await open.add(sweep)
  await open.addMany(charge, [{ cents: 1 }])
  // @ts-expect-error args are required
  planned(charge)
  // @ts-expect-error no such arg
  planned(charge, { cent: 1 })
  // @ts-expect-error args are checked here, too
  await open.add(charge, { cents: 'one' })
  // @ts-expect-error the batch decides about the transaction
  planned(sweep, undefined, { tx })
}

export async function enqueues(tx: pg.PoolClient): Promise<void> {
  await jobs.enqueue(stripeSync, { customerId: 7, since: '2031-01-01T00:00:00Z' })
  await jobs.enqueue(stripeSync, { customerId: 7, since: '' }, { in: '30m', priority: 'high', tx, tags: ['a'] })
  await jobs.enqueueMany(charge, [{ cents: 1 }, { cents: 2 }], { tx })
  await jobs.enqueue(sweep)
  await jobs.enqueue(sweep, undefined, { at: new Date() })
  // @ts-expect-error args are required
  await jobs.enqueue(charge)
  // @ts-expect-error the arg was renamed: every call that still says `cent` is found
  await jobs.enqueue(charge, { cent: 1 })
  // @ts-expect-error the same in a list
  await jobs.enqueueMany(charge, [{ cents: 1 }, { cent: 2 }])
  // @ts-expect-error an arg has the wrong type
  await jobs.enqueue(charge, { cents: '1' })
  // @ts-expect-error the input is text, not what the schema makes of it
  await jobs.enqueue(stripeSync, { customerId: 7, since: new Date() })
  // @ts-expect-error this one takes no args
  await jobs.enqueue(sweep, { days: 90 })
  // @ts-expect-error not an option
  await jobs.enqueue(sweep, undefined, { delay: '1h' })
  // @ts-expect-error not a time
  await jobs.enqueue(sweep, undefined, { in: 'soon' })
  // @ts-expect-error not a priority
  await jobs.enqueue(sweep, undefined, { priority: 'urgent' })
  // @ts-expect-error no such state
  await jobs.list({ states: ['done'] })
}

export const wrong = [
  // @ts-expect-error there is no transaction without `transaction: true`
  defineJob({ name: 'a', perform: ({ tx }) => void tx }),
  // @ts-expect-error an outcome is made by snooze or cancel
  defineJob({ name: 'a', perform: () => 'done' }),
  // @ts-expect-error perform is needed
  defineJob({ name: 'a' }),
  // @ts-expect-error a rule is made by retryOn or discardOn
  defineJob({ name: 'a', onError: [TypeError], perform: () => undefined }),
  // @ts-expect-error not an option
  defineJob({ name: 'a', retries: 3, perform: () => undefined }),
  // @ts-expect-error a limit is per key
  defineJob({ name: 'a', concurrency: { limit: 1 }, perform: () => undefined }),
]

const rhythm = { name: 's', cron: '0 * * * *' } as const

export const schedules = [
  defineSchedule({ ...rhythm, job: sweep }),
  defineSchedule({ ...rhythm, job: stripeSync, args: { customerId: 1, since: '2026-01-01T00:00:00Z' } }),
  defineSchedule({ ...rhythm, job: stripeSync, args: (tick) => ({ customerId: 1, since: tick.toISOString() }) }),
  defineSchedule({ name: 's', every: '15m', job: sweep, missed: { all: 24 }, overlap: 'allow' }),
  // @ts-expect-error args are needed
  defineSchedule({ ...rhythm, job: stripeSync }),
  // @ts-expect-error not these args
  defineSchedule({ ...rhythm, job: stripeSync, args: { customer: 1, since: '' } }),
  // @ts-expect-error not what the args are made of
  defineSchedule({ ...rhythm, job: stripeSync, args: () => ({ customerId: 'one', since: '' }) }),
  // @ts-expect-error a job or an operation
  defineSchedule(rhythm),
  // @ts-expect-error by a pattern or evenly
  defineSchedule({ name: 's', job: sweep }),
  // @ts-expect-error not a policy
  defineSchedule({ ...rhythm, job: sweep, missed: 'all' }),
]

export const mixed: JobDefinition[] = [stripeSync, sweep, charge]
export const config = defineConfig({
  jobs: [stripeSync, sweep, charge],
  worker: { jobs: { concurrency: 10, queues: { urgent: 3 } } },
})
