/**
 * The simulator: the governor's own policy on signals that never were, with a clock of its own. What it shows is what
 * a worker would do with the same readings; only the database is missing.
 */
import { momentInWords } from './limiter.ts'
import { chooseProbes, type LimitOptions } from './limits.ts'
import { loadOf, nextLoad } from './load.ts'
import { initialPace, nextPace } from './pace.ts'
import type { Probe } from './probe.ts'
import { missed, read, signalOf, unread, type Reading } from './reading.ts'
import type { Signal } from './signal.ts'

/** How far the simulated work has come, for signals that follow from it. */
export interface SimulatedWork {
  second: number
  /** Rows in the last second, and in all. */
  rowsPerSecond: number
  rows: number
}

/** A controller of the size of sub-batches, to be run along. */
export interface SimulatedSize<State> {
  initial: State
  rowsOf(state: State): number
  next(state: State, sample: { rows: number; elapsedMs: number; load: number }): State
  /** How long a sub-batch of so many rows takes at a load from 0 to 1. */
  elapsedMs(rows: number, load: number): number
}

/** What to simulate. */
export interface Simulation<State = unknown> {
  seconds: number
  /** The values of signals by name at a second. Undefined: it cannot be read at that moment. */
  signals(work: SimulatedWork): Readonly<Record<string, number | undefined>>
  /** Other limits than the usual ones. */
  limits?: LimitOptions
  /** Signals of your own. */
  probes?: readonly Probe[]
  /** Rows in a second at full pace. Default: 10,000. With `size`, what that gives. */
  fullSpeed?: number
  size?: SimulatedSize<State>
  /** How long a hold may last without making its signal better. Default: 600 s. */
  patienceSeconds?: number
}

/** One second of a simulation. */
export interface TracePoint {
  second: number
  values: Readonly<Record<string, number | undefined>>
  share: number
  held: boolean
  load: number
  rowsPerSecond: number
  /** Rows per sub-batch; undefined without a size controller. */
  size: number | undefined
  /** What limits the pace, in one sentence. */
  limitedBy: string | undefined
}

/**
 * Shows what the governor would do: one look per second, as in a worker.
 *
 * @example
 * ```ts
 * import { plotTrace, simulateGovernor } from 'sluice/testing'
 *
 * // A replica that replays nothing between second 20 and second 40.
 * const trace = simulateGovernor({
 *   seconds: 90,
 *   signals: ({ second }) => ({ replicaLag: second < 20 ? 0 : second < 40 ? (second - 20) * 1_000 : 0 }),
 * })
 * console.log(plotTrace(trace))
 * ```
 */
export function simulateGovernor<State>(simulation: Simulation<State>): TracePoint[] {
  const { seconds, size, fullSpeed = 10_000, patienceSeconds = 600 } = simulation
  const probes = chooseProbes(simulation.limits ?? {}, simulation.probes ?? [])
  const readings = new Map<string, Reading>()
  const trace: TracePoint[] = []
  let state = initialPace
  let sizeState = size?.initial
  let work: SimulatedWork = { second: 0, rowsPerSecond: 0, rows: 0 }
  for (let second = 0; second < seconds; second++) {
    work = { ...work, second }
    const values = simulation.signals(work)
    const signals = probes.map((probe) => poll(probe, values, readings, second))
    const moment = { nowMs: second * 1_000, patienceMs: patienceSeconds * 1_000 }
    const next = nextPace(state, signals, moment)
    state = next.state
    const { share, held, limiter } = next.pace
    const load = nextLoad(trace.at(-1)?.load ?? 0, loadOf(signals, state.smoothed), 1_000)
    const done = size === undefined || sizeState === undefined ? undefined : workFor(size, sizeState, { share, load })
    sizeState = done?.state ?? sizeState
    const rowsPerSecond = Math.round(done?.rows ?? share * fullSpeed)
    work = { second, rowsPerSecond, rows: work.rows + rowsPerSecond }
    const limitedBy = limiter && momentInWords(limiter)
    trace.push({ second, values, share, held, load, rowsPerSecond, size: done?.size, limitedBy })
  }
  return trace
}

/** A value that is not named is not there; one that is undefined cannot be read. */
function poll(
  probe: Probe,
  values: Readonly<Record<string, number | undefined>>,
  readings: Map<string, Reading>,
  second: number,
): Signal {
  const { name } = probe
  const value = values[name]
  const last = readings.get(name) ?? unread
  const blind = name in values && value === undefined
  const reading = blind ? missed(last) : read(value === undefined ? undefined : { value }, second * 1_000)
  readings.set(name, reading)
  return signalOf(probe, reading)
}

/** A second of sub-batches, each followed by the rest that the pace asks for. */
function workFor<State>(
  size: SimulatedSize<State>,
  begin: State,
  { share, load }: { share: number; load: number },
): { state: State; rows: number; size: number } {
  let [state, rows] = [begin, 0]
  for (let usedMs = share === 0 ? 1_000 : 0; usedMs < 1_000;) {
    const count = Math.max(1, size.rowsOf(state))
    const elapsedMs = Math.max(0.1, size.elapsedMs(count, load))
    rows += count
    usedMs += elapsedMs / share
    state = size.next(state, { rows: count, elapsedMs, load })
  }
  return { state, rows, size: size.rowsOf(state) }
}
