import { parseDuration } from '../../std/duration.ts'
import { didYouMean } from '../../std/suggest.ts'
import type { AnyMachine } from './definition.ts'

const options = ['name', 'table', 'key', 'state', 'changedAt', 'stuckAfter', 'states']
const stateOptions = ['to', 'delay', 'queue', 'priority', 'onError', 'retry', 'timeout', 'transaction', 'perform']

/** What is wrong with the declaration of a machine; undefined: nothing. What its jobs refuse, they refuse themselves. */
export function machineProblem(spec: AnyMachine): string | undefined {
  if (typeof spec.name !== 'string' || !/^[A-Za-z][A-Za-z0-9_-]{0,49}$/.test(spec.name)) {
    return 'its name must start with a letter and have up to 50 letters, digits, "_" or "-"'
  }
  const unknown = Object.keys(spec).find((key) => !options.includes(key))
  if (unknown !== undefined) return `there is no option "${unknown}".${didYouMean(unknown, options)}`
  const nameless = (['table', 'key', 'state', 'changedAt'] as const).find(
    (option) => !isName(option === 'table' ? spec.table : (spec[option] ?? 'default')),
  )
  if (nameless !== undefined) return `"${nameless}" must be the name of a ${nameless === 'table' ? 'table' : 'column'}`
  const stuckMs = spec.stuckAfter === undefined ? 1_000 : parseDuration(spec.stuckAfter)
  if (stuckMs === undefined || stuckMs < 1_000) return '"stuckAfter" must be a time such as "10m", a second at least'
  if (typeof spec.states !== 'object' || spec.states === null || Object.keys(spec.states).length < 2) {
    return '"states" must have two states at least'
  }
  const names = Object.keys(spec.states)
  const problem = names.map((name) => stateProblem(name, spec.states[name], names)).find((found) => found !== undefined)
  if (problem !== undefined) return problem
  return names.every((name) => spec.states[name]?.to === undefined) ? 'no state has a way on ("to")' : undefined
}

function stateProblem(name: string, state: unknown, names: readonly string[]): string | undefined {
  if (!/^[A-Za-z0-9_][A-Za-z0-9_-]{0,47}$/.test(name)) {
    return `the state "${name}" must have up to 48 letters, digits, "_" or "-"`
  }
  if (typeof state !== 'object' || state === null) return `the state "${name}" must be an object; {} for a final one`
  const { to, delay, perform } = state as Record<string, unknown>
  const unknown = Object.keys(state).find((key) => !stateOptions.includes(key))
  if (unknown !== undefined) return `there is no option "${unknown}" of a state.${didYouMean(unknown, stateOptions)}`
  if (to === undefined) {
    return perform === undefined ? undefined : `the state "${name}" has work ("perform") but no way on ("to")`
  }
  if (typeof perform !== 'function') return `the state "${name}" has a way on ("to") but no work ("perform")`
  if (delay !== undefined && parseDuration(delay) === undefined) {
    return `"delay" of the state "${name}" must be a time such as "30m"`
  }
  const all: unknown[] = Array.isArray(to) ? to : [to]
  if (all.length === 0) return `"to" of the state "${name}" is empty; leave it out for a final state`
  const lost = all.find((one) => typeof one !== 'string' || !names.includes(one))
  if (lost !== undefined) {
    return `"${name}" goes to ${JSON.stringify(lost)}, which is no state.${typeof lost === 'string' ? didYouMean(lost, names) : ''}`
  }
  return all.includes(name) ? `"${name}" goes to itself; its work returns again() to stay in a state` : undefined
}

function isName(value: unknown): boolean {
  return typeof value === 'string' && value.trim() !== '' && !value.includes('\0')
}
