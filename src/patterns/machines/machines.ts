/**
 * Machines: rows that go from state to state, one job per transition.
 *
 * The model. The state is a column of the user's row and nowhere else. Each state that has a way on has a job, unique
 * per row. The job looks whether the row is still in its state, does its one thing, and moves the row on. There is no
 * graph to store and no run to resume: the row says what comes next.
 *
 * The invariants. A transition is compare-and-set: `update … where key = … and state = …`, and its row count decides.
 * It commits together with the end of its job and with the job of the next state, so a row is never moved twice by one
 * job and never moved without what comes next. Work with effects outside of the database comes before that
 * transaction, under the claim of its job, with an idempotency key that stays the same until the row leaves the state.
 * Work inside of the database can be part of the transaction, with the row locked.
 *
 * On a crash before the commit the job is taken over, finds the row in the same state and does the same work, with the
 * same idempotency key. After the commit there is nothing left to do. When the answer to the commit is lost, the job's
 * row tells. A worker that was asleep finds that its claim is not its own and commits nothing. A row whose job is lost,
 * or dead, is found by the reconciler that comes with each machine. It leaves a row alone whose work is done but which
 * could not be moved (MACHINE_STATE): to start it again would repeat the effect every minute, so a person does that.
 */
import { SluiceError } from '../../errors.ts'
import type { EnqueuedJob } from '../../jobs/definition.ts'
import type { Jobs } from '../../jobs/jobs.ts'
import { onTransaction, type Connection } from '../../store/connection.ts'
import type { Database } from '../../store/database.ts'
import { canBeKey, checkStatePlace, moveState, readState, type RowInState } from '../../targets/postgres/state.ts'
import { tallyStates, type Tally } from '../../targets/postgres/tally.ts'
import type { MachineDefinition, MachineRegistry } from './definition.ts'
import { graphOf } from './graph.ts'
import { cancelled, delayOf, illegal } from './steps.ts'

/** The key of a row. */
export type RowKey = string | number | bigint

/** A row that was started or moved. */
export interface StartedRow {
  key: string
  state: string
  /** The job of its state; null where the state is final. */
  job: EnqueuedJob | null
}

/** A machine in a list. */
export interface MachineSummary {
  name: string
  table: string
  states: string[]
}

/** A machine, its rows by state, and its graph. */
export interface MachineStatus {
  name: string
  table: string
  /** How the rows were counted: all of them, up to 10,000 of each state, or by the statistics of the table. */
  counted: Tally['counted']
  states: { state: string; rows: number; to: string[] }[]
  /** States of rows that the machine does not know. */
  unknown: { state: string; rows: number }[]
  /** The graph as a Mermaid diagram. */
  graph: string
}

interface Deps {
  database: () => Promise<Database>
  registry: MachineRegistry
  jobs: Jobs
}

/** Machines: start rows, move them, and look at them. */
export class Machines {
  readonly #deps: Deps
  readonly #placed = new WeakSet<MachineDefinition>()

  constructor(deps: Deps) {
    this.#deps = deps
  }

  /** Enqueues the job for the state that a row is in; with `tx`, in that transaction, which may have inserted the row. */
  async start(machine: MachineDefinition, key: RowKey, { tx }: { tx?: Connection } = {}): Promise<StartedRow> {
    return this.#in(machine, { key, tx }, async (connection) => {
      const { key: text, state } = await this.#row(machine, connection, key)
      return this.#enqueue(machine, connection, { key: text, state })
    })
  }

  /**
   * Moves a row to another state by hand, because somebody else knows more: a webhook, a person. The transition must be
   * declared, and the job of the new state is enqueued with it. A row that is in that state already stays as it is.
   */
  async advance(
    machine: MachineDefinition,
    key: RowKey,
    { to, tx }: { to: string; tx?: Connection },
  ): Promise<StartedRow> {
    return this.#in(machine, { key, tx }, async (connection) => {
      const { key: text, state: from } = await this.#row(machine, connection, key)
      // Who comes twice, as webhooks do, finds it done.
      if (from === to) return this.#enqueue(machine, connection, { key: text, state: from })
      const allowed = machine.states.find(({ name }) => name === from)?.to ?? []
      if (!allowed.includes(to)) throw illegal(machine.name, { from, to, allowed })
      if ((await moveState(connection, machine.place, { key: text, from, to })) !== 'moved') {
        // The row is locked, so nobody else has moved it.
        throw cancelled(machine, { key: text, from, to })
      }
      return this.#enqueue(machine, connection, { key: text, state: to })
    })
  }

  /** The machines that this process knows. */
  list(): MachineSummary[] {
    return this.#deps.registry.definitions.map(({ name, place, states }) => ({
      name,
      table: place.table,
      states: states.map((state) => state.name),
    }))
  }

  /** A machine with its rows by state and its graph. No count reads more than a bounded number of rows. */
  async show(name: string): Promise<MachineStatus> {
    const machine = this.#deps.registry.find(name)
    const { place, states } = machine
    const { work } = await this.#deps.database()
    await this.#check(machine, work)
    const names = states.map((state) => state.name)
    const { counted, rows } = await tallyStates(work, place, names)
    return {
      name,
      table: place.table,
      counted,
      states: states.map((state) => ({ state: state.name, rows: rows.get(state.name) ?? 0, to: [...state.to] })),
      unknown: [...rows].filter(([state]) => !names.includes(state)).map(([state, n]) => ({ state, rows: n })),
      graph: graphOf(states),
    }
  }

  async #in<T>(
    machine: MachineDefinition,
    { key, tx }: { key: RowKey; tx: Connection | undefined },
    work: (connection: Connection) => Promise<T>,
  ): Promise<T> {
    const { work: pool } = await this.#deps.database()
    const transaction = tx === undefined ? undefined : onTransaction(tx, pool.schema)
    // A check that fails would end the caller's transaction with it.
    await this.#check(machine, pool)
    if (transaction === undefined) return pool.transaction(work)
    if (!(await canBeKey(pool, machine.place, String(key)))) throw notFound(machine, key)
    return work(transaction)
  }

  async #check(machine: MachineDefinition, connection: Connection): Promise<void> {
    if (this.#placed.has(machine)) return
    await checkStatePlace(connection, machine.place)
    this.#placed.add(machine)
  }

  async #row({ name, place, states }: MachineDefinition, connection: Connection, key: RowKey): Promise<RowInState> {
    const found = await readState(connection, place, { key: String(key), locked: true })
    if (found === undefined) throw notFound({ name, place }, key)
    if (states.some((state) => state.name === found.state)) return found
    throw new SluiceError('MACHINE_STATE', {
      message: `The row ${found.key} of ${place.table} is in the state "${found.state}", which "${name}" does not know. Declare the state, or correct the row.`,
      details: { machine: name, key: found.key, state: found.state },
    })
  }

  async #enqueue(
    machine: MachineDefinition,
    tx: Connection,
    { key, state }: { key: string; state: string },
  ): Promise<StartedRow> {
    const step = machine.steps.get(state)
    const job =
      step === undefined ? null : await this.#deps.jobs.enqueue(step, { key }, { tx, ...delayOf(machine, state) })
    return { key, state, job }
  }
}

function notFound({ name, place }: Pick<MachineDefinition, 'name' | 'place'>, key: RowKey): SluiceError {
  return new SluiceError('MACHINE_ROW_NOT_FOUND', {
    message: `"${name}" has no row with the ${place.key} ${String(key)} in ${place.table}. Insert it first, or give the transaction that does as "tx".`,
    details: { machine: name, key: String(key) },
  })
}
