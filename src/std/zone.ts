const formats = new Map<string, Intl.DateTimeFormat>()

/** Whether the name is that of a time zone, such as `Europe/Berlin`. */
export function isZone(zone: unknown): zone is string {
  if (typeof zone !== 'string' || zone === '') return false
  try {
    formatOf(zone)
    return true
  } catch {
    // Unknown names throw; there is no list that has all aliases.
    return false
  }
}

/** How far the clocks of a zone are ahead of UTC at a moment, in milliseconds. */
export function offsetAt(zone: string, at: number): number {
  if (zone === 'UTC') return 0
  const name = formatOf(zone).format(at)
  const [, sign, hours = '0', minutes = '0', seconds = '0'] = /GMT([+-])(\d+):?(\d*):?(\d*)$/.exec(name) ?? []
  const ms = (Number(hours) * 3_600 + Number(minutes) * 60 + Number(seconds)) * 1_000
  return sign === '-' ? -ms : ms
}

/** What the clocks of a zone show at a moment, written as if it were UTC. */
export function wallAt(zone: string, at: number): number {
  return at + offsetAt(zone, at)
}

/**
 * The moment at which the clocks of a zone show a time. One that is left out when they go forward is the moment of the
 * change, the next one that is valid; one that comes twice is the first.
 */
export function momentOf(zone: string, wall: number): number {
  // The offset before any change near that time, and the one after it.
  const [before, after] = [offsetAt(zone, wall - dayMs), offsetAt(zone, wall + dayMs)]
  const first = wall - before
  if (before === after || offsetAt(zone, first) === before) return first
  const second = wall - after
  if (offsetAt(zone, second) === after) return second
  return changeIn(zone, second, first) ?? first
}

/** The first moment in (after, upTo] at which the clocks of a zone are changed, if there is one. */
export function nextChange(zone: string, after: number, upTo: number): number | undefined {
  if (zone === 'UTC') return undefined
  for (let from = after; from < upTo; from += stepMs) {
    const found = changeIn(zone, from, Math.min(from + stepMs, upTo))
    if (found !== undefined) return found
  }
  return undefined
}

const dayMs = 86_400_000
/** No zone changes its clocks forth and back within so short a time. */
const stepMs = 6 * 3_600_000

/** The moment in (from, to] from which on the offset is not that of `from`. */
function changeIn(zone: string, from: number, to: number): number | undefined {
  const old = offsetAt(zone, from)
  if (offsetAt(zone, to) === old) return undefined
  let [low, high] = [from, to]
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2)
    if (offsetAt(zone, middle) === old) low = middle
    else high = middle
  }
  return high
}

function formatOf(zone: string): Intl.DateTimeFormat {
  const known = formats.get(zone)
  if (known !== undefined) return known
  const made = new Intl.DateTimeFormat('en-US', { timeZone: zone, timeZoneName: 'longOffset' })
  formats.set(zone, made)
  return made
}
