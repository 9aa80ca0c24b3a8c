import sql, { join, raw } from 'sql-template-tag'
import { quote } from './cursor.ts'
import { olderThan, type Find } from './find.ts'
import type { StatePlace } from './state.ts'

/** The query for rows that are in one of these states for longer than it should last, or nobody knows for how long. */
export function restingRows(place: StatePlace, states: readonly { name: string; restMs: number }[]): Find {
  const resting = states.map(
    ({ name, restMs }) => sql`(${raw(quote(place.state))} = ${name} and (${olderThan(place.changedAt, restMs)}
      or ${raw(quote(place.changedAt))} is null))`,
  )
  const [key, state] = [raw(quote(place.key)), raw(quote(place.state))]
  return {
    key: 'key',
    query: sql`select ${key} as key, ${state}::text as state from ${raw(place.table)} where ${join(resting, ' or ')}`,
  }
}
