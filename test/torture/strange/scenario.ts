import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import {
  backfill,
  defineJob,
  defineSchedule,
  expire,
  planned,
  raw,
  Sluice,
  type JobDefinition,
  type OperationDefinition,
} from '../../../src/index.ts'
import { jobProfile } from '../../support/jobs.ts'
import { patient } from '../../support/working.ts'
import { until } from '../../support/wait.ts'
import { strangePlan, type StrangePlan } from './plan.ts'
import { makeWorld, quoted, type World } from './world.ts'

const jobs = 40
const keyLimit = 2
const n = z.object({ n: z.number() })
const write = 'insert into public.ledger (kind, n) values ($1, $2)'

/** A job that writes itself down in the transaction in which it ends. */
const noted = (
  kind: string,
  more: { unique?: { until: 'success'; key: () => string } } = {},
): JobDefinition<{ n: number }> =>
  defineJob({
    name: kind,
    args: n,
    transaction: true,
    ...more,
    async perform({ args, tx }) {
      await tx.query(write, [kind, args.n])
    },
  })

const [plain, member, called] = [noted('plain'), noted('member'), noted('called')]
const single = noted('single', { unique: { until: 'success', key: () => 'the one' } })
const ticked = defineJob({
  name: 'ticked',
  transaction: true,
  async perform({ tx }) {
    await tx.query(write, ['ticked', 0])
  },
})
const everySecond = defineSchedule({ name: 'every-second', every: '1s', job: ticked })

/** Writes down when it began and when it ended, so that the server can count what overlapped. */
const keyedIn = (world: World): JobDefinition<{ n: number }> =>
  defineJob({
    name: 'keyed',
    args: n,
    concurrency: { limit: keyLimit, key: ({ n: of }) => `key ${of % 3}` },
    async perform({ args }) {
      const begin = `insert into public.ledger (kind, n, key) values ('keyed', $1, $2) returning id`
      const [row] = await world.query<{ id: string }>(begin, [args.n, `key ${args.n % 3}`])
      await sleep(5)
      await world.query('update public.ledger set ended = clock_timestamp() where id = $1', [row?.id])
    },
  })

/** Runs everything on the database of a seed; gives what was wrong, which is nothing. */
export async function runStrange(clusterUrl: string, seed: number): Promise<{ plan: StrangePlan; wrong: string[] }> {
  const plan = strangePlan(seed)
  await using world = await makeWorld(clusterUrl, plan)
  const { table } = world
  const cursor = plan.key.map(({ name }) => name) as [string, ...string[]]
  const counted = { [plan.counter]: raw(`${quoted(plan.counter)} + 1`) }
  const count = backfill({ name: 'count', table, cursor, set: counted, where: raw(`${quoted(plan.counter)} = 0`) })
  const forget = expire({ name: 'forget', table, cursor, by: plan.stamp, olderThan: '1 year' })
  const keyed = keyedIn(world)
  const profile = jobProfile({ concurrency: 8 }, { ...patient.worker, concurrency: 2 })
  await using sluice = new Sluice({
    ...profile,
    database: world.workerUrl,
    operations: [count, forget],
    jobs: [plain, single, keyed, member, called, ticked],
    schedules: [everySecond],
  })
  const failures: string[] = []
  sluice.on('operation.failed', ({ name, error }) => failures.push(`${name} failed: ${error.message}`))
  sluice.on('job.died', ({ name, error }) => failures.push(`${name} died: ${error?.message ?? ''}`))
  const retried: string[] = []
  sluice.on('job.retried', ({ name, error }) => retried.push(`${name} was retried: ${error?.message ?? ''}`))
  await sluice.start()
  const started = await startAll(sluice, [count, forget])
  const numbers = Array.from({ length: jobs }, (_, i) => ({ n: i }))
  await sluice.jobs.enqueueMany(plain, numbers)
  const ones = await Promise.all(numbers.slice(0, 5).map((one) => sluice.jobs.enqueue(single, one)))
  await Promise.all(numbers.map((one) => sluice.jobs.enqueue(keyed, one)))
  const batch = await sluice.batches.run(
    numbers.map((one) => planned(member, one)),
    { onSuccess: planned(called, { n: 1 }) },
  )
  for (const id of started) await over(sluice, id)
  await until('two ticks have run', async () => (await countOf(world, `kind = 'ticked'`)) >= 2)
  await until('the batch has called back', async () => (await countOf(world, `kind = 'called'`)) >= 1)
  const live = `select count(*)::int as n from sluice.job where class_id <> (select id from sluice.job_class where name = 'ticked')`
  await until('all jobs have ended', async () => (await world.query<{ n: number }>(live))[0]?.n === 0)
  const status = await sluice.batches.get(batch.id)
  await sluice.operations.list()
  await sluice.schedules.list()
  await sluice.doctor()
  await sluice.stop()
  const states = await Promise.all(started.map((id) => sluice.operations.get(id)))
  const wrong = [
    ...failures,
    ...states.filter(({ state }) => state !== 'finished').map(({ name, state }) => `${name} is ${state}`),
    ...(status.state === 'succeeded' ? [] : [`the batch is ${status.state}`]),
    ...(await wrongRows(world, plan)),
    ...(await wrongJobs(world, ones.filter(({ duplicate }) => !duplicate).length)),
  ]
  return { plan, wrong: wrong.length > 0 ? [...wrong, ...retried] : [] }
}

/** Waits until an operation is over; one that stands still says why. */
async function over(sluice: Sluice, id: string): Promise<void> {
  await until('the operation is over', async () => (await sluice.operations.get(id)).finishedAt !== null).catch(
    async (error: unknown) => {
      const { name, state, reason } = await sluice.operations.get(id)
      throw new Error(`${name} is ${state}: ${reason ?? 'for no reason that it knows'}`, { cause: error })
    },
  )
}

async function startAll(sluice: Sluice, operations: readonly OperationDefinition<undefined>[]): Promise<string[]> {
  const ids: string[] = []
  for (const operation of operations)
    ids.push((await sluice.operations.start(operation, undefined, { force: true })).id)
  return ids
}

async function countOf(world: World, condition: string): Promise<number> {
  const [row] = await world.query<{ n: number }>(`select count(*)::int as n from public.ledger where ${condition}`)
  return row?.n ?? 0
}

async function wrongRows(world: World, { rows, counter, stamp }: StrangePlan): Promise<string[]> {
  const [found] = await world.query<{ old: number; young: number; miscounted: number }>(
    `select count(*) filter (where ${quoted(stamp)} < now() - interval '1 year')::int as old,
       count(*) filter (where sluice_nr % 3 <> 0)::int as young,
       count(*) filter (where ${quoted(counter)} <> 1)::int as miscounted
     from ${world.table}`,
  )
  const kept = rows - Math.floor(rows / 3)
  return [
    ...(found?.old === 0 ? [] : [`${found?.old ?? 0} old rows are left`]),
    ...(found?.young === kept ? [] : [`${found?.young ?? 0} young rows of ${kept} are there`]),
    ...(found?.miscounted === 0 ? [] : [`${found?.miscounted ?? 0} rows were not counted once`]),
  ]
}

async function wrongJobs(world: World, ones: number): Promise<string[]> {
  const wrong: string[] = []
  for (const [kind, expected] of Object.entries({ plain: jobs, member: jobs, keyed: jobs, called: 1, single: ones })) {
    const ran = await countOf(world, `kind = '${kind}'`)
    if (ran !== expected) wrong.push(`${kind} ran ${ran} times instead of ${expected}`)
  }
  const [overlap] = await world.query<{ most: number }>(
    `select max((select count(*) from public.ledger b where b.key = a.key and b.began <= a.began
         and b.ended >= a.began))::int as most
     from public.ledger a where a.kind = 'keyed'`,
  )
  if ((overlap?.most ?? 0) > keyLimit) wrong.push(`${overlap?.most ?? 0} jobs of a key ran at once`)
  const [ticks] = await world.query<{ ran: number; kept: number }>(
    `select (select count(*)::int from public.ledger where kind = 'ticked') as ran,
       (select count(*)::int from sluice.schedule_tick where job_id is not null) as kept`,
  )
  const waiting = await world.query(
    `select from sluice.job where class_id = (select id from sluice.job_class where name = 'ticked')`,
  )
  if (ticks?.ran !== (ticks?.kept ?? 0) - waiting.length)
    wrong.push(`${ticks?.kept ?? 0} ticks ran ${ticks?.ran ?? 0} times`)
  return wrong
}
