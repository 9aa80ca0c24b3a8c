import type { Sluice } from '../index.ts'
import type { Answers } from './answers.ts'

type Planned = Answers['operations.planned']

/** A plan looks at rows of the table, so it is made once for all who look within a minute. */
const keptMs = 60_000
const mostKept = 50
const kept = new WeakMap<Sluice, Map<string, { at: number; plan: Promise<Planned> }>>()

/** What the checks of a start say about an operation that is there. */
export async function planned(look: Sluice, id: string): Promise<Planned> {
  const plans = kept.get(look) ?? new Map<string, { at: number; plan: Promise<Planned> }>()
  kept.set(look, plans)
  const now = performance.now()
  const known = plans.get(id)
  if (known !== undefined && now - known.at < keptMs) return known.plan
  if (plans.size >= mostKept) plans.clear()
  const plan = make(look, id)
  plans.set(id, { at: now, plan })
  // A failure is told to who asked, and is not kept.
  plan.catch(() => plans.delete(id))
  return plan
}

async function make(look: Sluice, id: string): Promise<Planned> {
  const { statements, ...rest } = await look.operations.records.plan(id)
  return { plan: { ...rest, statements: statements.map(({ plan: _plan, ...one }) => one) }, madeAt: new Date() }
}
