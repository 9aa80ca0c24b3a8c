import sql, { join, raw } from 'sql-template-tag'
import { quote } from '../fragment.ts'
import { olderThan, type Find } from './find.ts'
import type { StatePlace } from './state.ts'

/** The query for rows that are in one of these states for longer than it should last, or nobody knows for how long. */
export function restingRows(place: StatePlace, states: readonly { name: string; restMs: number }[]): Find {
  const resting = states.map(
    ({ name, restMs }) => sql`(${raw(quote(place.state))} = ${name} and (${olderThan(place.changedAt, restMs)}
      or ${raw(quote(place.changedAt))} is null))`,
  )
  const [key, state, changedAt] = [place.key, place.state, place.changedAt].map((name) => raw(quote(name)))
  return {
    key: 'key',
    // The text of the key is what the step of a row has in its args, however the driver reads the type.
    query: sql`select ${key} as key, ${key}::text as text, ${state}::text as state,
        ${changedAt}::timestamptz::text as since
      from ${raw(place.table)} where ${join(resting, ' or ')}`,
  }
}
