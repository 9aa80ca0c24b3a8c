/** Lanes that follow the load begin with so many, and never become more than that many. */
const first = 2
const most = 8

/** The number of lanes to begin with, and up to how many they may become; null: they stay as many. */
export function lanesFrom(lanes: number | 'auto'): { lanes: number; mostLanes: number | null } {
  return lanes === 'auto' ? { lanes: first, mostLanes: most } : { lanes, mostLanes: null }
}
