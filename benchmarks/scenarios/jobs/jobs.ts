import type { Bench, Sizes } from './bench.ts'
import {
  graphileDefault,
  graphileProducer,
  graphilePublished,
  insertNotifying,
  insertSilent,
  pgBossNotified,
  sluice,
} from './configurations.ts'
import { systemNames, type Configuration, type SystemName } from './job-system.ts'
import { take, type Measure, type Taken } from './measure.ts'
import { drain } from './measures/drain.ts'
import { bulkEnqueue, concurrentEnqueue } from './measures/enqueue.ts'
import { oldSnapshot } from './measures/old-snapshot.ts'
import { pickup } from './measures/pickup.ts'
import { size } from './measures/size.ts'
import { installPeers } from './peers.ts'
import { throwAwayRedis, type Redis } from './redis.ts'
import { sweep, type Best } from './sweep.ts'

export interface JobsChoices {
  /** A PostgreSQL server on which databases may be made. */
  url: string
  sizes: Sizes
  /** Keys of the measures to take, if not all. */
  only?: string[] | undefined
  /** Systems to compare, if not all. */
  systems?: string[] | undefined
  say: (line: string) => void
}

export interface JobsBenchmark {
  /** Versions and settings beyond those of the PostgreSQL server. */
  facts: string[]
  taken: Taken[]
}

const measureKeys = ['drain', 'oldSnapshot', 'pickup', 'bulkEnqueue', 'concurrentEnqueue', 'size']

/** Sluice beside the queues that people would use instead, each in its own process on the same servers. */
export async function jobsBenchmark({ url, sizes, only, systems, say }: JobsChoices): Promise<JobsBenchmark> {
  const keys = chosen('only', only, measureKeys)
  const names = chosen('systems', systems, systemNames)
  const facts: string[] = []
  if (names.some((name) => name === 'graphile' || name === 'pg-boss' || name === 'bullmq'))
    facts.push(installPeers(say))
  await using redis: Redis | undefined = names.includes('bullmq') ? await throwAwayRedis(say) : undefined
  if (redis !== undefined) facts.push(redis.about)
  const bench: Bench = { postgres: url, redis: redis?.url, sizes, say }
  const needsSweep = keys.some((key) => key === 'drain' || key === 'oldSnapshot' || key === 'size')
  const { best, taken } = await sweep(bench, needsSweep ? names : [])
  for (const measure of measures(bench, best, names).filter(({ key }) => keys.includes(key)))
    taken.push(await take(measure, sizes.rounds, say))
  return { facts, taken }
}

/** Every measure with the variants that make sense in it. */
function measures(bench: Bench, best: Best, names: SystemName[]): Measure[] {
  const among = (...configurations: Configuration[]): Configuration[] => [
    ...new Set(configurations.filter(({ system }) => names.includes(system))),
  ]
  const { graphile, 'pg-boss': pgBoss, bullmq } = best
  // What only completes the picture is left out of a short run.
  const more = (...configurations: Configuration[]): Configuration[] =>
    bench.sizes.sweepRounds === 0 ? [] : configurations
  const inserts = { silent: insertSilent, notifying: insertNotifying }
  return [
    drain(bench, among(graphile, ...more(graphilePublished), pgBoss, bullmq, sluice), graphile),
    oldSnapshot(bench, among(graphile, ...more(pgBoss), sluice)),
    pickup(bench, among(graphileDefault, ...more(graphilePublished), pgBossNotified, bullmq, sluice), {
      graphile: graphileDefault,
      bullmq,
    }),
    bulkEnqueue(bench, among(graphileProducer, pgBossNotified, bullmq, sluice), graphileProducer),
    concurrentEnqueue(
      bench,
      among(insertSilent, insertNotifying, ...more(graphileProducer, pgBossNotified, bullmq), sluice),
      inserts,
    ),
    size(bench, among(graphile, ...more(pgBoss), sluice), graphile),
  ]
}

function chosen<T extends string>(option: string, asked: string[] | undefined, known: readonly T[]): T[] {
  const unknown = asked?.find((name) => !known.some((other) => other === name))
  if (unknown !== undefined) throw new Error(`--${option} knows no "${unknown}", only ${known.join(', ')}`)
  return known.filter((name) => asked === undefined || asked.includes(name))
}
