import fc from 'fast-check'
import { isDeepStrictEqual } from 'node:util'
import { agreesWithSlowTicks } from '../../schedules/agreement.ts'
import { comeBack, isExact, killAtTicks, wantedAfterGaps } from './scenario.ts'

interface Amounts {
  clusterUrl: string
  kills: number
  processes: number
  runs: number
}

type Phase = (amounts: Amounts) => Promise<{ ok: boolean; outcome: unknown }>

export const schedulePhases: Record<string, Phase> = {
  kills: async (amounts) => {
    const outcome = await killAtTicks(amounts)
    return { ok: isExact(outcome) && outcome.kills >= amounts.kills, outcome }
  },
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
