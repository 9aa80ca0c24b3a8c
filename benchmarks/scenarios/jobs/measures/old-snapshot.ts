import pg from 'pg'
import { spread } from '../../../harness.ts'
import { Stage, type Bench } from '../bench.ts'
import { now, type Configuration } from '../job-system.ts'
import { goalFor, plain, type Measure, type Reading } from '../measure.ts'
import { trickle } from './pickup.ts'

/** What is left of a queue's speed while a forgotten transaction keeps every deleted row alive. */
export function oldSnapshot(bench: Bench, configurations: Configuration[]): Measure {
  const { snapshotJobs: jobs, pickupSamples } = bench.sizes
  return {
    key: 'oldSnapshot',
    title: `old snapshot: a repeatable read transaction is open elsewhere, ${jobs.toLocaleString('en-US')} jobs are drained, then single jobs trickle in`,
    facts: [
      'held ÷ free: the same system without the transaction, in the same round; a VACUUM before the trickle in both',
      `pickup: p50 of ${pickupSamples} jobs, enqueued one by one from another process, the worker still the one that drained`,
      `drain kept: jobs/s held ÷ free; tail: the same for the last ${tailOf(jobs).toLocaleString('en-US')} jobs`,
    ],
    columns: [
      plain('freeP50', 'pickup free, ms', 2),
      plain('heldP50', 'held, ms', 2),
      quotient('heldP50', 'freeP50', {
        key: 'pickupFactor',
        title: 'pickup held ÷ free',
        ...goalFor(200_000, jobs, { least: 1.3, aim: 1, atMost: true }),
      }),
      plain('freeRate', 'drain free, jobs/s', 0),
      quotient('heldRate', 'freeRate', {
        key: 'drainKept',
        title: 'drain kept',
        ...goalFor(200_000, jobs, { least: 0.8, aim: 0.9 }),
      }),
      quotient('heldTailRate', 'freeTailRate', { key: 'tailKept', title: 'tail kept' }),
    ],
    variants: configurations.map((configuration) => ({
      name: configuration.name,
      run: () => bothStates(bench, configuration),
    })),
  }
}

async function bothStates(bench: Bench, configuration: Configuration): Promise<Reading> {
  const began = now()
  const free = await drainThenTrickle(bench, configuration, false)
  const held = await drainThenTrickle(bench, configuration, true)
  const values = {
    freeP50: free.p50,
    heldP50: held.p50,
    freeRate: free.rate,
    heldRate: held.rate,
    freeTailRate: free.tailRate,
    heldTailRate: held.tailRate,
  }
  return { ms: now() - began, values }
}

async function drainThenTrickle(
  bench: Bench,
  configuration: Configuration,
  hold: boolean,
): Promise<{ rate: number; tailRate: number; p50: number }> {
  const { snapshotJobs: jobs, warmUpJobs, pickupSamples } = bench.sizes
  const tail = tailOf(jobs)
  await using stage = await Stage.set(bench, configuration)
  const [worker, producer] = await stage.workerAndProducer()
  await worker.call('warmUp', warmUpJobs)
  await using _snapshot = hold ? await holdSnapshot(stage.database) : undefined
  await worker.call('fill', jobs)
  await stage.settle()
  const { ms, tailMs } = await worker.call('drain', jobs, tail)
  await stage.settle()
  await worker.call('work', 1)
  await trickle(producer, worker, 10)
  const waits = await trickle(producer, worker, pickupSamples)
  return { rate: (jobs * 1_000) / ms, tailRate: (tail * 1_000) / tailMs, p50: spread(waits).median }
}

/** A transaction that has read something and then does nothing more. */
async function holdSnapshot(url: string | undefined): Promise<AsyncDisposable> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query('begin isolation level repeatable read')
  await client.query('select count(*) from pg_class')
  return { [Symbol.asyncDispose]: () => client.end() }
}

function quotient(over: string, under: string, column: Omit<Measure['columns'][number], 'of' | 'digits'>) {
  const of = (own: Record<string, number>): number => (own[over] ?? Number.NaN) / (own[under] ?? Number.NaN)
  return { ...column, digits: 2, of }
}

function tailOf(jobs: number): number {
  return Math.round(jobs * 0.15)
}
