import type { JobDefinition } from '../../jobs/definition.ts'
import { reconcilerOf, type ReconcilerDefinition } from '../reconcilers/define.ts'
import { restingRows } from '../../targets/postgres/stuck.ts'
import type { KeyArgs, MachineDefinition } from './definition.ts'

/** How often to look at most; less often where rows may rest for longer. */
const mostOftenMs = 60_000

/** The reconciler of a machine: enqueues the job of its state for each row that rests for too long. */
export function stuckRows(
  { name, place, states, stuckAfterMs }: Omit<MachineDefinition, 'steps' | 'reconciler'>,
  steps: ReadonlyMap<string, JobDefinition<KeyArgs>>,
): ReconcilerDefinition {
  const waiting = states.filter(({ to }) => to.length > 0)
  const every = Math.max(Math.min(stuckAfterMs / 2, mostOftenMs), 100)
  return reconcilerOf(
    { every },
    {
      name: `${name}.stuck`,
      find: restingRows(
        place,
        waiting.map((state) => ({ name: state.name, restMs: stuckAfterMs + state.delayMs })),
      ),
      route(row) {
        const job = steps.get(String(row['state']))
        if (job === undefined) throw new TypeError(`the state ${String(row['state'])} has no job`)
        return { job, args: { key: String(row['text']) }, inStateSince: row['since'] as string | null }
      },
    },
  )
}
