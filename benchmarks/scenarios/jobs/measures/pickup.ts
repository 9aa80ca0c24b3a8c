import { setTimeout as sleep } from 'node:timers/promises'
import { spread } from '../../../harness.ts'
import { Stage, type Bench } from '../bench.ts'
import type { Child, Progress } from '../child.ts'
import { now, type Configuration } from '../job-system.ts'
import { plain, ratioTo, type Measure, type Reading } from '../measure.ts'

/** How long a job waits for an idle worker. */
export function pickup(
  bench: Bench,
  configurations: Configuration[],
  baselines: { graphile: Configuration; bullmq: Configuration },
): Measure {
  return {
    key: 'pickup',
    title: 'pickup: a single job on an idle queue',
    facts: [
      'time: from the call of enqueue in one process to the begin of the handler in another',
      `${bench.sizes.pickupSamples} jobs per round, each enqueued 15 to 25 ms after the one before was picked up`,
    ],
    columns: [
      plain('p50', 'p50 ms', 2),
      ratioTo(baselines.graphile.name, 'p50', {
        key: 'ratio',
        title: `p50 ÷ ${baselines.graphile.name}`,
        goal: { least: 0.7, atMost: true },
      }),
      ratioTo(baselines.bullmq.name, 'p50', {
        key: 'ratioToBullmq',
        title: `÷ ${baselines.bullmq.name}`,
        goal: { aim: 1, atMost: true },
      }),
      plain('p99', 'p99 ms', 2),
    ],
    variants: configurations.map((configuration) => ({
      name: configuration.name,
      run: () => pickupOnce(bench, configuration),
    })),
  }
}

async function pickupOnce(bench: Bench, configuration: Configuration): Promise<Reading> {
  const began = now()
  await using stage = await Stage.set(bench, configuration)
  const [worker, producer] = await stage.workerAndProducer()
  await worker.call('work', 1)
  await trickle(producer, worker, 20)
  const waits = await trickle(producer, worker, bench.sizes.pickupSamples)
  return { ms: now() - began, values: { p50: spread(waits).median, p99: percentile(waits, 0.99) } }
}

/** Enqueues jobs one by one, each after the one before was picked up. Gives how long each waited. */
export async function trickle(producer: Child, worker: Child, jobs: number): Promise<number[]> {
  const picked: number[] = []
  for (let job = 0; job < jobs; job++) {
    const next = nextProgress(worker)
    producer.tell('enqueueOne')
    picked.push((await next).at)
    // Never in step with a timer of the system.
    await sleep(15 + ((job * 7) % 11))
  }
  const sent = await producer.call('sentAt')
  return picked.map((at, job) => at - (sent[job] ?? Number.NaN))
}

function nextProgress(worker: Child): Promise<Progress> {
  return new Promise((resolve, reject) => {
    const late = setTimeout(() => reject(new Error('a job was not picked up within 30 s')), 30_000)
    worker.onProgress = (progress) => {
      clearTimeout(late)
      resolve(progress)
    }
  })
}

function percentile(values: number[], part: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.ceil(sorted.length * part) - 1] ?? Number.NaN
}
