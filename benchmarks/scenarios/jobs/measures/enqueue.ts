import { Stage, type Bench } from '../bench.ts'
import { now, type Configuration } from '../job-system.ts'
import { plain, ratioTo, type Measure, type Reading } from '../measure.ts'

const perCall = 1_000
const callers = 64

/** Many jobs by one call. */
export function bulkEnqueue(bench: Bench, configurations: Configuration[], baseline: Configuration): Measure {
  return {
    key: 'bulkEnqueue',
    title: `enqueue: bulk of ${perCall.toLocaleString('en-US')} per call, one call after the other`,
    facts: [`${bench.sizes.enqueueMs} ms per round, after half a second to warm up; no worker runs`],
    columns: [
      plain('jobsPerSecond', 'jobs/s', 0),
      ratioTo(baseline.name, 'jobsPerSecond', {
        key: 'ratio',
        title: `÷ ${baseline.name}`,
        goal: { least: 2, aim: 3 },
      }),
    ],
    variants: variants(bench, configurations, { callers: 1, perCall }),
  }
}

/** One job by each of many callers at once. */
export function concurrentEnqueue(
  bench: Bench,
  configurations: Configuration[],
  inserts: { silent: Configuration; notifying: Configuration },
): Measure {
  return {
    key: 'concurrentEnqueue',
    title: `enqueue: ${callers} concurrent callers, one job per call, durable when the call returns`,
    facts: [
      'the inserts: a narrow table with its primary key as the only index, a pool of 16 connections, a prepared statement',
      'BullMQ is as durable as its Redis, which syncs once a second',
      `${bench.sizes.enqueueMs} ms per round, after half a second to warm up; no worker runs`,
    ],
    columns: [
      plain('jobsPerSecond', 'jobs/s', 0),
      ratioTo(inserts.silent.name, 'jobsPerSecond', {
        key: 'ratio',
        title: '÷ INSERT',
        goal: { least: 5, aim: 10 },
      }),
      ratioTo(inserts.notifying.name, 'jobsPerSecond', { key: 'ratioToNotifying', title: '÷ INSERT with NOTIFY' }),
    ],
    variants: variants(bench, configurations, { callers, perCall: 1 }),
  }
}

function variants(
  bench: Bench,
  configurations: Configuration[],
  how: { callers: number; perCall: number },
): Measure['variants'] {
  return configurations.map((configuration) => ({
    name: configuration.name,
    run: async (): Promise<Reading> => {
      const began = now()
      await using stage = await Stage.set(bench, configuration)
      const producer = await stage.worker()
      await stage.settle()
      const jobsPerSecond = await producer.call('enqueueFor', bench.sizes.enqueueMs, how.callers, how.perCall)
      return { ms: now() - began, values: { jobsPerSecond } }
    },
  }))
}
