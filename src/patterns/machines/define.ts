import { SluiceError } from '../../errors.ts'
import { parseDuration } from '../../std/duration.ts'
import { quoted } from '../../std/storable.ts'
import { machineProblem } from './check.ts'
import type { AnyMachine, MachineDefinition, MachineSpec, MachineState } from './definition.ts'
import { stepJobs } from './steps.ts'
import { stuckRows } from './stuck.ts'

/**
 * Defines a machine: rows with a state, and one job per state that has a way on.
 *
 * @example
 * ```ts
 * import { again, defineMachine } from 'sluice'
 *
 * export const submissions = defineMachine({
 *   name: 'app-submission',
 *   table: 'submissions',
 *   states: {
 *     pending: { to: 'uploaded', perform: ({ row, idempotencyKey }) => upload(row, idempotencyKey) },
 *     uploaded: {
 *       to: ['approved', 'rejected'],
 *       delay: '30m',
 *       perform: async ({ row }) => (await verdictOn(row)) ?? again(),
 *     },
 *     approved: {},
 *     rejected: {},
 *   },
 * })
 *
 * declare function upload(row: object, idempotencyKey: string): Promise<void>
 * declare function verdictOn(row: object): Promise<'approved' | 'rejected' | undefined>
 * ```
 */
export function defineMachine<const To extends Record<string, unknown>>(spec: MachineSpec<To>): MachineDefinition {
  const problem = machineProblem(spec as AnyMachine)
  if (problem !== undefined) {
    throw new SluiceError('DEFINITION_INVALID', {
      message: `The machine ${quoted(spec.name)} cannot be defined: ${problem.replace(/\.$/, '')}.`.replace('?.', '?'),
      details: { name: spec.name, problem },
    })
  }
  const { name, table, key = 'id', state = 'state', changedAt = 'state_changed_at', stuckAfter = '10m' } = spec
  const shape = {
    name,
    place: { table, key, state, changedAt },
    states: Object.entries((spec as AnyMachine).states).map(stateOf),
    stuckAfterMs: parseDuration(stuckAfter) ?? 0,
  }
  const steps = stepJobs(shape, (spec as AnyMachine).states)
  return { ...shape, steps, reconciler: stuckRows(shape, steps) }
}

function stateOf([name, { to, delay }]: [string, AnyMachine['states'][string]]): MachineState {
  const all = to === undefined ? [] : typeof to === 'string' ? [to] : to
  return { name, to: all, delayMs: parseDuration(delay) ?? 0 }
}
