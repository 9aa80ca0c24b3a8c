import type { Simulation, TracePoint } from './simulator.ts'

/** A case to try limits on: what happens in it, and its signals. */
export interface SimulatedCase {
  what: string
  /** Makes it anew: some remember what happened. */
  simulation: () => Pick<Simulation, 'seconds' | 'signals'>
}

const between = (second: number, from: number, to: number): boolean => second >= from && second < to

/** Numbers between 0 and 1 that look random and are always the same. */
function noise(seed: number): () => number {
  let state = seed
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) % 2 ** 32
    return state / 2 ** 32
  }
}

/** Rows in a second that the replica of the last case replays. */
const replayed = 4_000

/** The cases that every policy of this kind must get right, by name. */
export const simulatedCases: Readonly<Record<string, SimulatedCase>> = {
  'step-load': {
    what: 'others need the database from second 20 to second 40',
    simulation: () => ({
      seconds: 60,
      signals: ({ second }) => ({ activeSessions: between(second, 20, 40) ? 5 : 0.02 }),
    }),
  },
  outlier: {
    what: 'one odd reading of the load at second 10, and one of the replica lag at second 20',
    simulation: () => ({
      seconds: 40,
      signals: ({ second }) => ({
        activeSessions: second === 10 ? 4.5 : 0.5,
        replicaLag: second === 20 ? 60_000 : 0,
      }),
    }),
  },
  'noisy-signal': {
    what: 'a replica lag that jumps around its hard limit from second 20 to second 120',
    simulation: () => {
      const random = noise(11)
      return {
        seconds: 200,
        signals: ({ second }) => ({ replicaLag: between(second, 20, 120) ? 4_000 + random() * 8_000 : 100 }),
      }
    },
  },
  'blind-gap': {
    what: 'neither the replica lag nor the load can be read from second 20 to second 40',
    simulation: () => ({
      seconds: 60,
      signals: ({ second }) =>
        between(second, 20, 40)
          ? { replicaLag: undefined, activeSessions: undefined }
          : { replicaLag: 0, activeSessions: second < 20 ? 2.5 : 0 },
    }),
  },
  'slow-replica': {
    what: `a replica that replays ${replayed.toLocaleString('en-US')} rows in a second`,
    simulation: () => {
      let behind = 0
      return {
        seconds: 300,
        signals: ({ rowsPerSecond }) => {
          behind = Math.max(0, behind + rowsPerSecond - replayed)
          return { replicaLag: (behind / replayed) * 1_000 }
        },
      }
    },
  },
}

/** Some seconds in which the same signal limited the pace. */
export interface LimitedStretch {
  from: number
  /** The last second of it. */
  to: number
  /** Seconds of it in which nothing was done at all. */
  held: number
  /** The slowest pace. */
  share: number
  /** What limited it, in the words of the second in which it did so most. */
  limitedBy: string
}

/** What limited a simulated run, one after the other. */
export function limitedStretches(trace: readonly TracePoint[]): LimitedStretch[] {
  const stretches: LimitedStretch[] = []
  for (const { second, held, share, limitedBy } of trace) {
    if (limitedBy === undefined) continue
    const last = stretches.at(-1)
    const goesOn = last !== undefined && last.to === second - 1 && titleOf(last.limitedBy) === titleOf(limitedBy)
    const count = held ? 1 : 0
    if (!goesOn) {
      stretches.push({ from: second, to: second, held: count, share, limitedBy })
      continue
    }
    const isMost = share < last.share || (held && last.held === 0)
    Object.assign(last, { to: second, held: last.held + count }, isMost ? { share, limitedBy } : {})
  }
  return stretches
}

/** Of a sentence such as "replica lag is 6 s, …" the signal. */
function titleOf(sentence: string): string {
  return sentence.replace(/ (is|cannot be read) .*$/s, '')
}
