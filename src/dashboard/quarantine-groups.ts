import type { QuarantinedRange } from '../index.ts'
import type { QuarantineGroup } from './answers.ts'

const shownKeys = 5

/** Quarantined ranges by their error, the largest group first. */
export function quarantineGroups(ranges: readonly QuarantinedRange[]): QuarantineGroup[] {
  const groups = new Map<string, QuarantineGroup>()
  for (const range of ranges) {
    const { fingerprint, error, rows, quarantined_at: at } = range
    const group = groups.get(fingerprint) ?? {
      fingerprint,
      ranges: 0,
      rows: 0,
      error,
      keys: [],
      firstAt: at,
      lastAt: at,
    }
    group.ranges += 1
    group.rows += rows
    if (group.keys.length < shownKeys) group.keys.push(range.upper_key.join(', '))
    if (at < group.firstAt) group.firstAt = at
    if (at > group.lastAt) group.lastAt = at
    groups.set(fingerprint, group)
  }
  return [...groups.values()].toSorted((a, b) => b.rows - a.rows)
}
