import { Stage, type Bench } from '../bench.ts'
import { now, type Configuration } from '../job-system.ts'
import { plain, ratioTo, type Measure, type Reading } from '../measure.ts'

/** How fast one worker empties a queue that was filled before. */
export function drain(bench: Bench, configurations: Configuration[], baseline: Configuration): Measure {
  const jobs = bench.sizes.drainJobs
  return {
    key: 'drain',
    title: `drain: ${jobs.toLocaleString('en-US')} preloaded jobs that do nothing, one worker process`,
    facts: [
      'time: from the start of the worker until the queue holds no more job to do; each was run exactly once',
      'Sluice writes a history row for each job, pg-boss keeps the row of the job, the others keep nothing',
      `before each run: ${bench.sizes.warmUpJobs.toLocaleString('en-US')} jobs to warm the process up, the preload, vacuum analyze, checkpoint`,
    ],
    columns: [
      plain('jobsPerSecond', 'jobs/s', 0),
      ratioTo(baseline.name, 'jobsPerSecond', {
        key: 'ratio',
        title: `÷ ${baseline.name}`,
        goal: { least: 1.5, aim: 3 },
      }),
    ],
    variants: configurations.map((configuration) => ({
      name: configuration.name,
      run: () => drainOnce(bench, configuration),
    })),
  }
}

async function drainOnce(bench: Bench, configuration: Configuration): Promise<Reading> {
  const { drainJobs: jobs, warmUpJobs } = bench.sizes
  const began = now()
  await using stage = await Stage.set(bench, configuration)
  const worker = await stage.worker()
  await worker.call('warmUp', warmUpJobs)
  await worker.call('fill', jobs)
  await stage.settle()
  const { ms } = await worker.call('drain', jobs, 0)
  return { ms: now() - began, values: { jobsPerSecond: (jobs * 1_000) / ms } }
}
