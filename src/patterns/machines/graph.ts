import { formatDuration } from '../../std/duration.ts'
import type { MachineState } from './definition.ts'

/** The states and their ways on as a Mermaid diagram. */
export function graphOf(states: readonly MachineState[]): string {
  const ids = new Map(states.map(({ name }, at) => [name, /^[A-Za-z]\w*$/.test(name) ? name : `s${at}`]))
  const idOf = (name: string): string => ids.get(name) ?? name
  const named = states.filter(({ name }) => idOf(name) !== name).map(({ name }) => `state "${name}" as ${idOf(name)}`)
  const [first] = states
  const begin = first === undefined ? [] : [`[*] --> ${idOf(first.name)}`]
  const ways = states.flatMap(({ name, to, delayMs }) =>
    to.length === 0
      ? [`${idOf(name)} --> [*]`]
      : to.map((next) => `${idOf(name)} --> ${idOf(next)}${delayMs === 0 ? '' : ` : after ${durationText(delayMs)}`}`),
  )
  return ['stateDiagram-v2', ...[...named, ...begin, ...ways].map((line) => `  ${line}`)].join('\n')
}

function durationText(ms: number): string {
  return formatDuration(ms).replace('.0 ', ' ')
}
