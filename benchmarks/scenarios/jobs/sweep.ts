import type { Bench } from './bench.ts'
import { knownBest, sweptConfigurations } from './configurations.ts'
import type { Configuration, SystemName } from './job-system.ts'
import { take, type Taken } from './measure.ts'
import { drain } from './measures/drain.ts'

/** The settings with which each peer is at its best here. */
export type Best = Record<keyof typeof knownBest, Configuration>

/** Tries the peers' settings; a short run takes the best that are known. */
export async function sweep(bench: Bench, systems: SystemName[]): Promise<{ best: Best; taken: Taken[] }> {
  const candidates = sweptConfigurations.filter(({ system }) => systems.includes(system))
  if (bench.sizes.sweepRounds === 0 || candidates.length === 0) return { best: knownBest, taken: [] }
  const measure = drain(bench, candidates, knownBest.graphile)
  const swept = { ...measure, key: 'sweep', title: `sweep: ${measure.title}` }
  const taken = await take(swept, bench.sizes.sweepRounds, bench.say)
  const rate = ({ name }: Configuration): number =>
    taken.rows.find(({ variant }) => variant === name)?.figures['ratio']?.median ?? 0
  const bestOf = (system: keyof Best): Configuration =>
    candidates
      .filter((candidate) => candidate.system === system)
      .reduce((best, other) => (rate(other) > rate(best) ? other : best), knownBest[system])
  return {
    best: { graphile: bestOf('graphile'), 'pg-boss': bestOf('pg-boss'), bullmq: bestOf('bullmq') },
    taken: [taken],
  }
}
