import { finalStates, verbs, type OperationState, type OperationStatus, type OperationVerb } from '../../index.ts'
import type { Tallies } from '../answers.ts'
import { contract } from '../contract.ts'
import { shownRole, whoOf, type Call, type Handlers } from '../handlers.ts'
import { quarantineGroups } from '../quarantine-groups.ts'
import { planned } from '../planned.ts'
import { includes, type Role } from '../roles.ts'

type Verb = Exclude<OperationVerb, 'finalize'>
type Tab = keyof Tallies

const shown = ['pause', 'resume', 'cancel', 'approve', 'retry', 'set'] as const
/** More are not looked through for one page. */
const most = 1_000
const perPage = 200

const tabs: Record<Exclude<Tab, 'all'>, readonly OperationState[]> = {
  running: ['active', 'verifying', 'pausing', 'cancelling'],
  waiting: ['queued', 'awaiting_approval'],
  stopped: ['held', 'paused'],
  failed: ['failed', 'finished_with_quarantine'],
  done: ['finished', 'cancelled'],
}

/** What somebody of a role may do to an operation in its state. */
function verbsFor({ state, rowsQuarantined }: OperationStatus, role: Role): string[] {
  return shown.filter(
    (verb) =>
      (verbs[verb] as readonly string[]).includes(state) &&
      includes(role, contract[`operations.${verb}`].role) &&
      // There is nothing to take up again.
      (verb !== 'retry' || state === 'failed' || rowsQuarantined > 0),
  )
}

const inTab = (tab: Tab, state: OperationState): boolean => tab === 'all' || tabs[tab].includes(state)

/** Does it by the verb of the public API, which compares the expected state once more where it acts. */
const act =
  (verb: Exclude<Verb, 'set'>) =>
  async (call: Call<`operations.${Exclude<Verb, 'set'>}`>): Promise<{ operation: OperationStatus }> => {
    const { id, expectedState } = call.input
    return { operation: await call.desk.act.operations[verb](id, { ...whoOf(call), expectedState }) }
  }

export const operations: Handlers<
  | 'operations'
  | 'operations.get'
  | 'operations.records'
  | 'operations.planned'
  | `operations.${Verb}`
  | 'definitions'
  | 'operations.plan'
  | 'operations.start'
> = {
  async operations({ input, visitor, desk }) {
    const { show = 'all', name, tenant } = input
    const filter = { ...(name === undefined ? {} : { name }), ...(tenant === undefined ? {} : { tenant }) }
    const found = await desk.look.operations.list({ ...filter, limit: most })
    const names = Object.keys({ ...tabs, all: [] }) as Tab[]
    const tallies = Object.fromEntries(names.map((tab) => [tab, found.filter(({ state }) => inTab(tab, state)).length]))
    const wanted = found.filter(({ state }) => inTab(show, state))
    return {
      operations: wanted
        .slice(0, perPage)
        .map((one) => ({ ...one, verbs: verbsFor(one, shownRole({ visitor, desk })) })),
      tallies: tallies as Tallies,
      more: wanted.length > perPage || found.length === most,
    }
  },
  async 'operations.get'({ input, visitor, desk }) {
    const status = await desk.look.operations.get(input.id)
    return {
      operation: { ...status, verbs: verbsFor(status, shownRole({ visitor, desk })) },
      limits: { attention: attentionOf(status) },
    }
  },
  async 'operations.records'({ input: { id }, desk: { look } }) {
    const [transitions, stretches, quarantined] = await Promise.all([
      look.operations.records.transitions(id),
      look.operations.records.stretches(id, { cells: 800 }),
      look.operations.quarantined(id, { limit: 1_000 }),
    ])
    return {
      transitions,
      stretches,
      quarantine: quarantineGroups(quarantined),
      quarantineMore: quarantined.length === 1_000,
    }
  },
  'operations.planned': ({ input: { id }, desk: { look } }) => planned(look, id),
  'operations.pause': act('pause'),
  'operations.resume': act('resume'),
  'operations.cancel': act('cancel'),
  'operations.approve': act('approve'),
  'operations.retry': act('retry'),
  async 'operations.set'(call) {
    const { id, expectedState, reason: _reason, window, ...limits } = call.input
    const hours = window === undefined ? {} : { window: window === '' ? null : window }
    const who = { ...whoOf(call), expectedState }
    return { operation: await call.desk.act.operations.set(id, { ...limits, ...hours }, who) }
  },
  async definitions({ desk }) {
    return { definitions: desk.act.operations.records.startable() }
  },
  async 'operations.plan'({ input: { name, args }, visitor, desk }) {
    // A dry run shows rows of users' tables, also in its errors, to somebody who could not start it.
    const dryRun = includes(visitor.role, contract['operations.start'].role)
    return { plan: await desk.look.operations.plan(name, args, { dryRun }) }
  },
  async 'operations.start'(call) {
    const { name, args, force = false } = call.input
    return call.desk.act.operations.startByName(name, args, { ...whoOf(call), ...(force ? { force } : {}) })
  },
}

/** What a person should look at. */
function attentionOf({ state, disabled, parked, rowsQuarantined }: OperationStatus): string | null {
  if (disabled && !finalStates.includes(state)) return 'Its definition is disabled: no run of it may work.'
  if (parked) return 'Parked: no running worker knows this operation.'
  if (rowsQuarantined > 0)
    return `${rowsQuarantined.toLocaleString('en')} rows could not be processed and were isolated.`
  return null
}
