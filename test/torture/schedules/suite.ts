import fc from 'fast-check'
import { isDeepStrictEqual } from 'node:util'
import { agreesWithSlowTicks } from '../../patterns/schedules/agreement.ts'
import { kill, loseCommit, stop, type TickHarm } from './harms.ts'
import { comeBack, harmAtTicks, isExact, wantedAfterGaps } from './scenario.ts'

interface Amounts {
  clusterUrl: string
  kills: number
  stops: number
  cuts: number
  processes: number
  runs: number
}

type Phase = (amounts: Amounts) => Promise<{ ok: boolean; outcome: unknown }>

/** A row and a job for each second, whatever was done so often. */
const harmed =
  (harm: TickHarm, amount: 'kills' | 'stops' | 'cuts'): Phase =>
  async (amounts) => {
    const outcome = await harmAtTicks(harm, { ...amounts, times: amounts[amount] })
    const caught = amount === 'kills' || outcome.inTransaction > 0
    return { ok: isExact(outcome) && outcome.hits >= amounts[amount] && caught, outcome }
  }

export const schedulePhases: Record<string, Phase> = {
  kills: harmed(kill, 'kills'),
  stops: harmed(stop, 'stops'),
  commits: harmed(loseCommit, 'cuts'),
  gaps: async ({ clusterUrl }) => {
    const outcome = await comeBack(clusterUrl)
    return { ok: isDeepStrictEqual(outcome, wantedAfterGaps), outcome }
  },
  ticks: ({ runs }) => {
    const began = Date.now()
    const { failed, counterexample } = fc.check(agreesWithSlowTicks, { numRuns: runs })
    return Promise.resolve({ ok: !failed, outcome: { runs, counterexample, elapsedMs: Date.now() - began } })
  },
}
