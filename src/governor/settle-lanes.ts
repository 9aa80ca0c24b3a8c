import type { StoreConnection } from '../store/connection.ts'
import { lanesOf, setLanes, type LaneView } from '../store/governing.ts'
import type { Course } from './course.ts'
import { judgeMs, nextLanes, trialMs } from './lanes.ts'

/** What a number of lanes brought is tried again after so long. */
const forgetMs = 60_000

interface Memory {
  atMs: number
  lanes: number
  rowsSeen: number
  /** Rows per second by number of lanes. */
  rates: Map<number, { perSecond: number; atMs: number }>
}

const memories = new WeakMap<Course, Memory>()

/** Lets the lanes of an operation follow the load, where it asks for that. */
export async function settleLanes(
  connection: StoreConnection,
  course: Course,
  { nowMs, cores }: { nowMs: number; cores: number },
): Promise<void> {
  if (course.running === 0) return
  const last = memories.get(course)
  if (last !== undefined && nowMs - last.atMs < judgeMs) return
  const [view] = await lanesOf(connection, { id: course.operation.id })
  if (view === undefined) return
  const { share } = course.pace
  const memory = remember(last, view, { nowMs, slowed: share < 0.9 || course.load > 0.3 })
  memories.set(course, memory)
  const { lanes, most_lanes: most } = view
  const rateOf = (count: number): number | undefined => memory.rates.get(count)?.perSecond
  const rates = { rate: rateOf(lanes), rateBelow: rateOf(lanes - 1), rateAbove: rateOf(lanes + 1) }
  const next = nextLanes({ lanes, most, ...rates, share, load: course.load })
  if (next !== lanes && view.since_ms >= trialMs({ lanes, next, cores })) {
    await setLanes(connection, { id: course.operation.id, from: lanes, to: next })
  }
}

/**
 * The rate counts only where all lanes were at work for the whole time. What lanes brought while something slowed them
 * says nothing about what they bring otherwise.
 */
function remember(
  last: Memory | undefined,
  view: LaneView,
  { nowMs, slowed }: { nowMs: number; slowed: boolean },
): Memory {
  const fresh = [...(last?.rates ?? [])].filter(([, { atMs }]) => nowMs - atMs < forgetMs && !slowed)
  const rates = new Map(fresh)
  if (!slowed && last !== undefined && last.lanes === view.lanes && view.running >= view.lanes) {
    const perSecond = ((view.rows_seen - last.rowsSeen) * 1_000) / (nowMs - last.atMs)
    rates.set(view.lanes, { perSecond, atMs: nowMs })
  }
  return { atMs: nowMs, lanes: view.lanes, rowsSeen: view.rows_seen, rates }
}
