import { reviewHold, type Hold } from './hold.ts'
import type { Limiter } from './limiter.ts'
import { isCalm, smooth, stressOf, type Signal, type Smoothed } from './signal.ts'

/**
 * The pace that signals ask for: a share of the time between 0 and 1, what limits it, and whether to stop. A pure
 * function of the last state, the signals and the time: the simulator runs the same one on signals that never were.
 *
 * Each signal is graded between its soft and its hard limit, and the worst one counts: share = (1 − stress)². A signal
 * that can stop the work does so a little before its hard limit, when nothing worth having is left of the share; a
 * stop ends only after several calm readings, so that it does not flicker. Where a stop has not made the signal better
 * for long, the cause is somebody else: work goes on at a floor pace, and says so.
 */
export interface Pace {
  /** Share of the time that a lane may work. */
  share: number
  limiter: Limiter | undefined
  /** Nothing may begin. */
  held: boolean
}

/** What the policy remembers from one reading to the next. */
export interface PaceState {
  smoothed: Readonly<Record<string, Smoothed>>
  limiter: { probe: string; sinceMs: number } | undefined
  hold: Hold | undefined
  /** Signals that pausing did not make better. */
  futile: readonly string[]
}

export const initialPace: PaceState = { smoothed: {}, limiter: undefined, hold: undefined, futile: [] }

/** The least share that is not a stop. */
const leastShare = 0.05
/** The share that is left when a signal is at its worst that can slow the work, but not stop it. */
const slowestShare = 0.1
/** The share at which work goes on when pausing did not help. */
const floorShare = 0.02
/** Below this a signal is not worth a word. */
const leastStress = 0.05

/** How patient a hold is before it is called futile. */
export interface Moment {
  nowMs: number
  patienceMs: number
}

/** The next pace. */
export function nextPace(
  state: PaceState,
  signals: readonly Signal[],
  moment: Moment,
): { state: PaceState; pace: Pace } {
  const smoothed = smoothAll(state.smoothed, signals, moment.nowMs)
  const graded = signals.map((signal) => grade(signal, smoothed, state.futile))
  const worst = graded.toSorted((a, b) => a.share - b.share)[0]
  const futile = state.futile.filter((name) => !isOver(signals.find((signal) => signal.name === name)))
  const reviewed = review(state.hold, graded, moment)
  if (reviewed.futile !== undefined) futile.push(reviewed.futile)
  const binding =
    reviewed.hold === undefined ? worst : (graded.find(({ signal }) => signal.name === reviewed.hold?.probe) ?? worst)
  const limited = binding !== undefined && (binding.share < (1 - leastStress) ** 2 || reviewed.hold !== undefined)
  const limiter = limited ? limiterFrom(state, binding, { ...moment, futile }) : undefined
  const next: PaceState = {
    smoothed,
    futile,
    hold: reviewed.hold,
    limiter: limiter && { probe: limiter.probe, sinceMs: moment.nowMs - limiter.forMs },
  }
  const held = reviewed.hold !== undefined
  const share = held ? 0 : Math.max(floorShare, reviewed.futile === undefined ? (worst?.share ?? 1) : floorShare)
  return { state: next, pace: { share, limiter, held } }
}

interface Graded {
  signal: Signal
  /** The value that counts: smoothed where single ones say little. */
  value: number | undefined
  share: number
  /** Pausing does not make it better. */
  futile: boolean
}

function grade(signal: Signal, smoothed: PaceState['smoothed'], futileOnes: readonly string[]): Graded {
  const value = signal.smooth ? smoothed[signal.name]?.value : signal.value
  const futile = futileOnes.includes(signal.name)
  if (signal.kind === 'budget' && signal.stale) return { signal, value: undefined, share: 0, futile }
  if (value === undefined) return { signal, value, share: 1, futile }
  const share = (1 - stressOf(value, signal)) ** 2
  const least = futile ? floorShare : signal.effect === 'slow' ? slowestShare : 0
  return { signal, value, share: Math.max(share, least), futile }
}

/** A gauge that cannot be read keeps its last value. */
function smoothAll(last: PaceState['smoothed'], signals: readonly Signal[], nowMs: number): PaceState['smoothed'] {
  return Object.fromEntries(
    signals.flatMap((signal): [string, Smoothed][] => {
      const before = last[signal.name]
      if (signal.value === undefined || signal.stale) return before === undefined ? [] : [[signal.name, before]]
      return [[signal.name, smooth(before, signal.value, nowMs)]]
    }),
  )
}

/** What becomes of the hold that there is, or whether one begins. */
function review(
  hold: Hold | undefined,
  graded: readonly Graded[],
  { nowMs, patienceMs }: Moment,
): { hold: Hold | undefined; futile?: string } {
  if (hold === undefined) {
    const cause = graded.filter(stops).toSorted((a, b) => a.share - b.share)[0]
    if (cause === undefined) return { hold: undefined }
    const mark = { value: cause.value, atMs: nowMs }
    return { hold: { probe: cause.signal.name, sinceMs: nowMs, calm: 0, mark } }
  }
  const signals = graded.map(({ signal }) => signal)
  const reviewed = reviewHold(hold, signals, { nowMs, patienceMs })
  if (reviewed.next === 'held') return { hold: reviewed.hold }
  return reviewed.next === 'over' ? { hold: undefined } : { hold: undefined, futile: hold.probe }
}

const stops = ({ signal, share, futile }: Graded): boolean => signal.effect === 'hold' && !futile && share < leastShare

/** A signal for which pausing was futile is like any other again once it is calm. */
function isOver(signal: Signal | undefined): boolean {
  return signal?.value === undefined || (!signal.stale && isCalm(signal.value, signal))
}

function limiterFrom(
  { limiter }: PaceState,
  { signal, value }: Graded,
  { nowMs, futile }: Moment & { futile: readonly string[] },
): Limiter {
  const { name: probe, title, unit, soft, hard, effect, said } = signal
  const sinceMs = limiter?.probe === probe ? limiter.sinceMs : nowMs
  const about = { probe, title, unit, soft, hard, effect, said: said ?? null }
  return { ...about, value: value ?? null, forMs: nowMs - sinceMs, futile: futile.includes(probe) }
}
