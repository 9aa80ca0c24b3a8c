import type { HarmName } from './harms.ts'
import { tortureJobs, type Plan } from './scenario.ts'
import { wrongIn, type Outcome } from './verdict.ts'

/** How much harm there is to be in all. */
export interface Amounts {
  jobs: number
  kills: number
  stops: number
  cuts: number
  restarts: number
}

interface Phase {
  plan: Pick<Plan, 'harm' | 'secondsPerHarm'> & Partial<Pick<Plan, 'concurrency'>>
  /** What must really have happened, or the phase has shown nothing. */
  least: (outcome: Outcome) => Record<string, [seen: number, least: number]>
}

const times = (count: number, name: HarmName): HarmName[] => Array.from({ length: count }, () => name)

/** The phases, each on a database of its own with its part of the jobs. */
export function phases({ kills, stops, cuts, restarts }: Amounts): Record<string, Phase> {
  const third = Math.ceil(cuts / 3)
  // A third of the cuts loses the answer to a COMMIT, the others hit all that workers say to the database.
  const rest = times(cuts - third, 'cut').map(
    (name, i) => (['loseClaim', 'loseCompletion', 'loseEnqueue', name] as const)[i % 4] ?? name,
  )
  const cutting = mingle(times(third, 'loseCommit'), rest)
  return {
    kills: {
      plan: { harm: times(kills, 'kill'), secondsPerHarm: 1.3 },
      least: ({ hits, recovery }) => ({ kills: [hits.kill ?? 0, kills], recovered: [recovery.jobs, kills] }),
    },
    stops: {
      plan: { harm: times(stops, 'stop'), secondsPerHarm: 4 },
      least: ({ hits, refused }) => ({ stops: [hits.stop ?? 0, stops], refused: [refused, Math.floor(stops / 2)] }),
    },
    cuts: {
      // Few at once, so that workers fetch ahead: then a lost answer to a claim is about many jobs.
      plan: { harm: cutting, secondsPerHarm: 0.6, concurrency: 2 },
      least: ({ hits, unsure }) => ({
        cuts: [Object.values(hits).reduce((sum, n) => sum + n, 0), cuts],
        lostCommits: [hits.loseCommit ?? 0, third],
        lostClaims: [hits.loseClaim ?? 0, Math.floor(cuts / 6)],
        unsure: [unsure, hits.loseEnqueue ?? 0],
      }),
    },
    restarts: {
      plan: { harm: times(restarts, 'restart'), secondsPerHarm: 8 },
      least: ({ hits }) => ({ restarts: [hits.restart ?? 0, restarts] }),
    },
  }
}

/** Runs one phase and says how it went; true when every promise was kept and the harm was enough. */
export async function runPhase(
  name: string,
  { plan, least }: Phase,
  rest: Omit<Plan, keyof Phase['plan']>,
  say: (line: string) => void,
): Promise<boolean> {
  const outcome = await tortureJobs({ ...rest, ...plan })
  const wrong = wrongIn(outcome)
  const short = Object.entries(least(outcome)).filter(([, [seen, wanted]]) => seen < wanted)
  const verdict =
    wrong.length > 0
      ? `BROKEN: ${wrong.join(', ')}`
      : short.length > 0
        ? `NOT ENOUGH: ${short.map(([what]) => what).join(', ')}`
        : 'ok'
  say(`${name.padEnd(10)} ${verdict.padEnd(12)} ${JSON.stringify(outcome)}`)
  return verdict === 'ok'
}

/** Both lists in one, evenly. */
function mingle<T>(some: readonly T[], others: readonly T[]): T[] {
  return [
    ...some.map((one, i) => ({ one, at: (i + 0.5) / some.length })),
    ...others.map((one, i) => ({ one, at: (i + 0.5) / others.length })),
  ]
    .toSorted((a, b) => a.at - b.at)
    .map(({ one }) => one)
}
