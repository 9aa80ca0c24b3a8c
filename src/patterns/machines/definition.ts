/** What a machine is: how it is declared, and what the work of a state receives. */
import type { JobContext, JobDefinition, JobPriority } from '../../jobs/definition.ts'
import type { ErrorRule, JobOutcome, RetryOptions } from '../../jobs/policy.ts'
import type { Registry } from '../../runtime/registry.ts'
import type { Duration } from '../../std/duration.ts'
import type { Connection } from '../../store/connection.ts'
import type { StatePlace } from '../../targets/postgres/state.ts'
import type { ReconcilerDefinition } from '../reconcilers/define.ts'
import type { Again } from './again.ts'

/** What the work of a state receives. */
export interface StepContext extends Omit<JobContext<never>, 'args'> {
  /** The row as it is, in this state. */
  row: Record<string, unknown>
  /** The key of the row, as text. */
  key: string
  /**
   * The same for every attempt until the row leaves this state, and another when it comes back: give it to receivers
   * outside of the database, so that they can tell a repetition.
   */
  idempotencyKey: string
}

/** What the work of a state receives that is done in the transaction of its transition. */
export interface TransactionalStepContext extends StepContext {
  tx: Connection
}

type NextOf<To> = To extends readonly (infer State)[] ? State : To
/** Where there is one way on, nothing need be said. */
type Unsaid<To> = To extends string ? void : To extends readonly [string] ? void : never
/** Nobody returns this; it keeps the checker from taking a literal for any text. */
type Literal = '' & { readonly literal: true }
type Returned<To> = NextOf<To> | Unsaid<To> | Again | JobOutcome | Literal
type Performed<To> = Promise<Returned<To>>

interface CommonState<To> {
  /** The states that a row may go to from here. Without it the state is final. */
  to?: To
  /** How long a row rests in this state before its work begins, and until the next try after `again()`. */
  delay?: Duration
  /** As of a job. */
  queue?: string
  priority?: JobPriority
  onError?: readonly ErrorRule[]
  retry?: false | RetryOptions
  timeout?: Duration
}

interface EffectState<To> extends CommonState<To> {
  transaction?: false
  /** The one thing that is done in this state, in no transaction and at least once. Gives the next state. */
  perform?(context: StepContext): Performed<NoInfer<To>>
}

interface TransactionalState<To> extends CommonState<To> {
  transaction: true
  /** The same in the transaction of the transition, with the row locked: what goes through `tx` happens once. */
  perform?(context: TransactionalStepContext): Performed<NoInfer<To>>
}

/** How a state of a machine is declared. */
type StateSpec<To> = EffectState<To> | TransactionalState<To>

/** How a machine is declared; see {@link defineMachine}. */
export interface MachineSpec<To extends Record<string, unknown>> {
  /** Unique among the machines of an application; its jobs are named for it and their state, so keep it. */
  name: string
  /** The table whose rows go from state to state, as you would write it in SQL. */
  table: string
  /** The column that tells rows apart. Default: `id`. */
  key?: string
  /** The column that holds the state: text, an enum, a number. Default: `state`. */
  state?: string
  /** The column for the moment of the last transition, which nothing else should write. Default: `state_changed_at`. */
  changedAt?: string
  /** A row that rests in a state for so much longer than its `delay`, and has no job, is driven on. Default: 10 minutes. */
  stuckAfter?: Duration
  /** The states, the first one first. */
  states: { readonly [State in keyof To]: StateSpec<To[State]> }
}

/** A state of a defined machine. */
export interface MachineState {
  readonly name: string
  /** Empty: final. */
  readonly to: readonly string[]
  readonly delayMs: number
}

/** A defined machine. */
export interface MachineDefinition {
  readonly name: string
  readonly place: StatePlace
  readonly states: readonly MachineState[]
  readonly stuckAfterMs: number
  /** The job of each state that is not final. */
  readonly steps: ReadonlyMap<string, JobDefinition<KeyArgs>>
  /** Finds rows that rest for too long. */
  readonly reconciler: ReconcilerDefinition
}

/** The machines that a process knows. */
export type MachineRegistry = Registry<MachineDefinition>

/** A machine as it was declared, whatever its states are. */
export type AnyMachine = MachineSpec<Record<string, string | readonly string[]>>

/** What the job of a state is enqueued with. */
export interface KeyArgs {
  key: string
}
