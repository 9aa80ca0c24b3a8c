import { SluiceError } from '../errors.ts'
import { audited } from '../store/audit.ts'
import type { Database } from '../store/database.ts'
import type { Seen } from '../store/expected.ts'
import { lockOperation, set } from '../store/limits.ts'
import type { Priority } from '../store/operations.ts'
import { defineWindow } from '../runtime/window.ts'
import { lanesFrom } from './lanes.ts'
import { verbs, type OperationState } from './states.ts'

/** Limits that can be changed while an operation runs; they hold from the next sub-batch or batch on. */
export interface Limits {
  /** Batches at once; `auto`: as many as pay and the load allows. */
  lanes?: number | 'auto'
  /** Share of the time that each lane works, above 0 and up to 1; the rest of the time it rests between sub-batches. */
  pace?: number
  /** Rows per sub-batch, at most. */
  subBatchSize?: number
  priority?: Priority
  /** The hours in which it may run, such as `'00:00-06:00 Europe/Berlin'`; null: at any time. */
  window?: string | null
}

/** Changes limits, and writes down what they were; false when the operation is in no state for it. */
export async function changeLimits(
  database: Database,
  { id, limits, who }: { id: string; limits: Limits; who: Seen<OperationState> },
): Promise<boolean> {
  const { window, lanes, ...rest } = limits
  const checked = typeof window === 'string' ? { window: defineWindow(window).text } : window === null ? { window } : {}
  const counted = lanes === undefined ? {} : lanesFrom(lanes)
  const from = verbs.set.filter((state) => who.expectedState === undefined || state === who.expectedState)
  return audited(database, who, async (tx) => {
    const [was] = await lockOperation(tx, { id })
    const [changed] = await set(tx, { id, from, ...rest, ...checked, ...counted })
    if (changed === undefined || was === undefined) return { result: false, act: undefined }
    const names = Object.keys(limits) as (keyof Limits)[]
    const before = Object.fromEntries(names.map((name) => [name, was[name]]))
    return { result: true, act: { action: 'operation.set', target: id, before, after: { ...limits } } }
  })
}

const whole = (value: number | undefined): boolean =>
  value === undefined || (Number.isSafeInteger(value) && value > 0 && value <= 10_000_000)

/** Refuses limits that make no sense. */
export function checkLimits({ lanes, pace, subBatchSize, priority }: Limits): void {
  const problem = !(lanes === 'auto' || whole(lanes))
    ? '"lanes" must be a whole number from 1, or auto'
    : !whole(subBatchSize)
      ? '"subBatchSize" must be a whole number from 1'
      : pace !== undefined && !(pace > 0 && pace <= 1)
        ? '"pace" must be above 0 and at most 1'
        : priority !== undefined && !['low', 'normal', 'high'].includes(priority)
          ? '"priority" must be low, normal or high'
          : undefined
  if (problem === undefined) return
  throw new SluiceError('ARGS_INVALID', { message: `These limits cannot be set: ${problem}.`, details: { problem } })
}
