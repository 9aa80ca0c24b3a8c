/** The jobs of a machine: one per state that has a way on. */
import type { StandardSchemaV1 } from '@standard-schema/spec'
import { SluiceError } from '../../errors.ts'
import { defineJob } from '../../jobs/define.ts'
import type { JobContext, JobDefinition } from '../../jobs/definition.ts'
import { JobOutcome, leave, retryOn, snooze } from '../../jobs/policy.ts'
import { didYouMean } from '../../std/suggest.ts'
import type { Connection } from '../../store/connection.ts'
import { checkStatePlace, moveState, readState, type RowInState } from '../../targets/postgres/state.ts'
import { Again } from './again.ts'
import type { AnyMachine, KeyArgs, MachineDefinition, MachineState, TransactionalStepContext } from './definition.ts'

type Shape = Omit<MachineDefinition, 'steps' | 'reconciler'>
type Steps = ReadonlyMap<string, JobDefinition<KeyArgs>>

/** Defines the jobs of a machine, by state. */
export function stepJobs(shape: Shape, specs: AnyMachine['states']): Steps {
  const steps = new Map<string, JobDefinition<KeyArgs>>()
  for (const state of shape.states) {
    const spec = specs[state.name]
    if (state.to.length > 0 && spec !== undefined) steps.set(state.name, new Step(shape, state, { spec, steps }).job())
  }
  return steps
}

const keyArgs: StandardSchemaV1<KeyArgs, KeyArgs> = {
  '~standard': {
    version: 1,
    vendor: 'sluice',
    validate: (value) =>
      typeof value === 'object' && value !== null && 'key' in value && typeof value.key === 'string'
        ? { value: { key: value.key } }
        : { issues: [{ message: 'must be the key of a row, as text', path: ['key'] }] },
  },
}

/** A row, and where its work wants it to go. */
interface Move {
  found: RowInState
  to: string
}

class Step {
  readonly #shape: Shape
  readonly #state: MachineState
  readonly #spec: AnyMachine['states'][string]
  readonly #steps: Steps
  #placed: Promise<void> | undefined

  constructor(shape: Shape, state: MachineState, rest: { spec: AnyMachine['states'][string]; steps: Steps }) {
    this.#shape = shape
    this.#state = state
    this.#spec = rest.spec
    this.#steps = rest.steps
  }

  job(): JobDefinition<KeyArgs> {
    const { queue, priority, retry, timeout, transaction, onError = [] } = this.#spec
    const common = {
      ...given({ queue, priority, retry, timeout }),
      name: `${this.#shape.name}.${this.#state.name}`,
      args: keyArgs,
      unique: {},
      // Retries do not correct a mistake in the program or in the table. After MACHINE_STATE the effect is done, so
      // the reconciler leaves the row to a person; after the other two the work has not begun, and it comes back.
      onError: [retryOn('MACHINE_STATE', 'TABLE_INVALID', 'TABLE_NOT_FOUND', { attempts: 1 }), ...onError],
      transaction: true,
    } as const
    if (transaction === true) {
      return defineJob({
        ...common,
        perform: async (context) => {
          const decided = await this.#work(context, context.tx, true)
          return decided instanceof JobOutcome ? decided : this.#move(context, decided)
        },
      })
    }
    return defineJob({
      ...common,
      effect: (context) => this.#work(context, context.db, false),
      perform: (context) => this.#move(context, context.effect as Move),
    })
  }

  /** Does the one thing, if the row is still in this state. */
  async #work(context: JobContext<KeyArgs>, db: Connection, locked: boolean): Promise<Move | JobOutcome> {
    const { args, ...rest } = { args: context.args, job: context.job, enqueue: context.enqueue, log: context.log }
    await this.#checkPlace(db)
    const found = await readState(db, this.#shape.place, { key: args.key, locked })
    if (found === undefined) return leave('its row is not there')
    if (found.state !== this.#state.name) return leave(`its row is in the state ${found.state}`)
    const { key, row } = found
    const idempotencyKey = [this.#shape.name, key, found.state, found.entered].join(':')
    const step = { ...rest, row, key, idempotencyKey, signal: context.signal, ...(locked ? { tx: db } : {}) }
    const returned: unknown = await this.#spec.perform?.(step as TransactionalStepContext)
    if (returned instanceof JobOutcome) return returned
    if (returned instanceof Again) return snooze(returned.delayMs ?? this.#state.delayMs, 'looks again later')
    return { found, to: this.#checkNext(returned) }
  }

  #checkNext(returned: unknown): string {
    const { name, to } = this.#state
    const [only] = to
    if (returned === undefined && to.length === 1 && only !== undefined) return only
    if (typeof returned === 'string' && to.includes(returned)) return returned
    throw illegal(this.#shape.name, { from: name, to: returned, allowed: to })
  }

  /** The transition and the job of the next state, in the transaction in which this job ends. */
  async #move(
    { tx, enqueue }: { tx: Connection; enqueue: JobContext<unknown>['enqueue'] },
    { found: { key, state: from }, to }: Move,
  ): Promise<JobOutcome | void> {
    const { place } = this.#shape
    const moved = await moveState(tx, place, { key, from, to })
    if (moved === 'cancelled') throw cancelled(this.#shape, { key, from, to })
    if (moved === 'elsewhere') return leave('its row has moved on meanwhile')
    const next = this.#steps.get(to)
    if (next !== undefined) await enqueue(next, { key }, delayOf(this.#shape, to))
  }

  /** Once per process: a table seldom changes under a running program. */
  async #checkPlace(db: Connection): Promise<void> {
    this.#placed ??= checkStatePlace(db, this.#shape.place)
    await this.#placed.catch((error: unknown) => {
      this.#placed = undefined
      throw error
    })
  }
}

/** The options that were given. */
function given<Options extends object>(
  options: Options,
): { [Name in keyof Options]: Exclude<Options[Name], undefined> } {
  const entries = Object.entries(options).filter(([, value]) => value !== undefined)
  return Object.fromEntries(entries) as { [Name in keyof Options]: Exclude<Options[Name], undefined> }
}

/** How long the job of a state waits. */
export function delayOf({ states }: Pick<Shape, 'states'>, name: string): { in?: number } {
  const { delayMs = 0 } = states.find((state) => state.name === name) ?? {}
  return delayMs === 0 ? {} : { in: delayMs }
}

/** The error for a transition that the database accepted and did not make. */
export function cancelled(
  { name, place }: Pick<Shape, 'name' | 'place'>,
  { key, from, to }: { key: string; from: string; to: string },
): SluiceError {
  const happened = `The row ${key} of ${place.table} is still in "${from}" after "${name}" has updated it to "${to}": a trigger, a rule or a policy cancels the update.`
  const todo = 'Change that so that the update takes effect, then retry: the machine does not try again by itself.'
  return new SluiceError('MACHINE_STATE', {
    message: `${happened} ${todo}`,
    details: { machine: name, key, from, to },
  })
}

/** The error that refuses a transition that was not declared. */
export function illegal(
  machine: string,
  { from, to, allowed }: { from: string; to: unknown; allowed: readonly string[] },
): SluiceError {
  const wish = typeof to === 'string' ? `"${to}"` : String(to)
  const hint = typeof to === 'string' ? didYouMean(to, allowed) : ''
  const ways = allowed.length === 0 ? 'It is final' : `It may go to ${allowed.join(', ')}`
  return new SluiceError('MACHINE_STATE', {
    message: `A row of "${machine}" cannot go from "${from}" to ${wish}. ${ways}.${hint} Declare the transition under "to", or correct what is asked for, then retry.`,
    details: { machine, from, to, allowed },
  })
}
