import { SluiceError } from '../errors.ts'
import { mask } from '../std/mask.ts'
import { sleep } from '../std/sleep.ts'
import type { Database } from '../store/database.ts'
import type { Target } from '../targets/target.ts'
import * as lifecycle from '../store/lifecycle.ts'
import { audited } from '../store/audit.ts'
import type { Seen, Switch } from '../store/expected.ts'
import { lockOperation } from '../store/limits.ts'
import { find, list, type OperationView } from '../store/operations.ts'
import * as quarantine from '../store/quarantine.ts'
import { findStandstill, type Standstill } from '../store/standstill.ts'
import type { Telemetry } from '../telemetry/telemetry.ts'
import type { OperationDefinition, OperationRegistry } from './definition.ts'
import { planOperation, type OperationPlan, type OperationPlanOptions } from './preflight/preview.ts'
import { changeLimits, checkLimits, type Limits } from './limits.ts'
import { locate } from './place.ts'
import type { Place } from './progress.ts'
import { checkExpected } from './expected.ts'
import { OperationRecords } from './records.ts'
import { starterOf, startOperation, type StartedOperation, type StartOptions } from './start.ts'
import { finalStates, verbs, type OperationState, type OperationVerb } from './states.ts'
import { disableAll, enableAll } from './standstill.ts'
import { disable, enable } from './switches.ts'
import { statusOf, type OperationStatus } from './status.ts'

interface Deps {
  database(): Promise<Database>
  target(): Promise<Target>
  registry: OperationRegistry
  /** Paths of args that nobody may see, also of operations that this process does not know. */
  redact: readonly string[]
  telemetry: Telemetry
  /** Works in this process on the named operations until it is disposed of. */
  work(names: string[]): Promise<AsyncDisposable>
}

/** What follows a definition in a call to `start`: its args, where it takes any, and options. */
export type StartParameters<Input> = undefined extends Input
  ? [args?: Input, options?: StartOptions]
  : [args: Input, options?: StartOptions]

/** Who does it, from where and why; all is kept with the change. And the state in which they have seen it. */
export type VerbOptions = Seen<OperationState>

/** The same for what is enabled or disabled. */
export type SwitchOptions = Seen<Switch>

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** The verbs for operations. */
export class Operations {
  /** What is on record of operations beyond their status. */
  readonly records: OperationRecords
  readonly #deps: Deps

  constructor(deps: Deps) {
    this.#deps = deps
    this.records = new OperationRecords(deps)
  }

  /**
   * Starts an operation, after checking its args, table, cursor and scope; nothing is written when a check fails.
   * When an equal one (name, args, tenant) is unfinished, gives that one, marked as `duplicate`.
   *
   * @example
   * ```ts
   * const { id } = await sluice.operations.start(deleteDoneTodos, { userId: 7, deleteUntil: new Date() })
   * ```
   */
  async start<Input>(
    definition: OperationDefinition<Input>,
    ...[args, options = {}]: StartParameters<NoInfer<Input>>
  ): Promise<StartedOperation> {
    return startOperation(definition, { args, options }, await starterOf(this.#deps))
  }

  /** Starts an operation by its name, for callers that have no code in hand. */
  async startByName(name: string, args?: unknown, options: StartOptions = {}): Promise<StartedOperation> {
    return startOperation(this.#deps.registry.find(name), { args, options }, await starterOf(this.#deps))
  }

  /**
   * What a start by that name would do, with all its checks and without writing anything: how many rows, how long, how
   * they are found, what to think about first, and a sub-batch that is really run and rolled back.
   *
   * @example
   * ```ts
   * const { estimate, findings, refused } = await sluice.operations.plan('expire-events')
   * ```
   */
  async plan(name: string, args?: unknown, options: OperationPlanOptions = {}): Promise<OperationPlan> {
    const { tenant, min, max, dryRun = true } = options
    const request = { args, bounds: { min, max }, tenant: tenant ?? null, dryRun }
    return planOperation(this.#deps.registry.find(name), request, await starterOf(this.#deps))
  }

  /** Where an operation stands, also after its end. */
  async get(id: string): Promise<OperationStatus> {
    const { control } = await this.#deps.database()
    const [view] = uuid.test(id) ? await find(control, { id }) : []
    if (view !== undefined) return this.#seen(view, await locate(await this.#deps.target(), view))
    throw new SluiceError('OPERATION_NOT_FOUND', {
      message: `There is no operation with id "${id.slice(0, 100)}". "sluice ops list" shows the ids; the history of old operations is dropped.`,
      details: { id },
    })
  }

  /** Operations that are not over, oldest first, then those that are, latest first. */
  async list({ name, tenant, limit = 100 }: { name?: string; tenant?: string; limit?: number } = {}): Promise<
    OperationStatus[]
  > {
    const { control } = await this.#deps.database()
    const bounded = Math.min(1_000, Math.max(1, Math.floor(limit)))
    return (await list(control, { name: name ?? null, tenant: tenant ?? null, limit: bounded })).map((view) =>
      this.#seen(view),
    )
  }

  /** Waits until an operation has ended, well or not, and gives its last status. Aborting the signal ends the wait. */
  async wait(
    id: string,
    { signal, everyMs = 500 }: { signal?: AbortSignal; everyMs?: number } = {},
  ): Promise<OperationStatus> {
    for (;;) {
      const status = await this.get(id)
      if (finalStates.includes(status.state) || signal?.aborted === true) return status
      await sleep(everyMs, signal)
    }
  }

  /** Stops an operation after its current sub-batches; cursor and counters are kept until it is resumed. */
  async pause(id: string, options: VerbOptions = {}): Promise<OperationStatus> {
    const status = await this.#act('pause', id, { options, already: ['paused', 'pausing'], run: lifecycle.pause })
    const { actor = null, reason = null } = options
    this.#deps.telemetry.emit('operation.paused', { operationId: id, name: status.name, reason, actor })
    return status
  }

  /** Lets a paused or held operation go on where it stands. */
  async resume(id: string, options: VerbOptions = {}): Promise<OperationStatus> {
    const already = ['queued', 'active', 'verifying']
    const status = await this.#act('resume', id, { options, already, run: lifecycle.resume })
    this.#deps.telemetry.emit('operation.resumed', { operationId: id, name: status.name, actor: options.actor ?? null })
    return status
  }

  /** Ends an operation without finishing it, after its current sub-batches. What is done stays done. */
  async cancel(id: string, options: VerbOptions = {}): Promise<OperationStatus> {
    const already = ['cancelling', 'cancelled']
    const status = await this.#act('cancel', id, { options, already, run: lifecycle.cancel })
    if (status.state === 'cancelled')
      this.#deps.telemetry.emit('operation.cancelled', { operationId: id, name: status.name })
    return status
  }

  /** Lets an operation begin that waits for approval. */
  async approve(id: string, options: VerbOptions = {}): Promise<OperationStatus> {
    const already = ['queued', 'active', 'verifying']
    const status = await this.#act('approve', id, { options, already, run: lifecycle.resume })
    this.#deps.telemetry.emit('operation.approved', {
      operationId: id,
      name: status.name,
      actor: options.actor ?? null,
    })
    return status
  }

  /** Takes up what is left: quarantined rows, and the ranges of an operation that failed. */
  async retry(id: string, options: VerbOptions = {}): Promise<OperationStatus> {
    const before = checkExpected(await this.get(id), options)
    if (!(verbs.retry as readonly string[]).includes(before.state)) throw refused('retry', before)
    const database = await this.#deps.database()
    const { actor = null, reason = null, expectedState } = options
    const taken = await audited(database, options, async (tx) => {
      const [result] = await quarantine.retry(tx, { id, actor, reason, from: expectedState ?? null })
      const after = result && { ranges: result.ranges }
      return {
        result,
        act: after && { action: 'operation.retry', target: id, before: { status: before.state }, after },
      }
    })
    if (taken === undefined) throw refused('retry', checkExpected(await this.get(id), options))
    this.#deps.telemetry.emit('operation.retried', { operationId: id, name: before.name, ranges: taken.ranges, actor })
    return this.get(id)
  }

  /** Changes limits while an operation runs. */
  async set(id: string, limits: Limits, options: VerbOptions = {}): Promise<OperationStatus> {
    checkLimits(limits)
    const before = checkExpected(await this.get(id), options)
    const changed = await changeLimits(await this.#deps.database(), { id, limits, who: options })
    if (!changed) throw refused('set', checkExpected(await this.get(id), options))
    const about = { operationId: id, name: before.name, limits: { ...limits }, actor: options.actor ?? null }
    this.#deps.telemetry.emit('operation.changed', about)
    return this.get(id)
  }

  /**
   * Drives an operation to its end now, in this process and with all others, and waits: for deploy scripts. Look at the
   * state that it gives: one that is paused or disabled meanwhile ends the wait, too.
   */
  async finalize(id: string, options: VerbOptions & { signal?: AbortSignal } = {}): Promise<OperationStatus> {
    const { signal, ...seen } = options
    const { expectedState: _, ...who } = seen
    const before = checkExpected(await this.get(id), seen)
    if (finalStates.includes(before.state)) return before
    if (!(verbs.finalize as readonly string[]).includes(before.state)) throw refused('finalize', before)
    this.#deps.registry.find(before.name)
    if (['paused', 'pausing', 'held'].includes(before.state)) await this.resume(id, seen)
    await this.set(id, { priority: 'high', pace: 1, window: null }, who)
    await using _working = await this.#deps.work([before.name])
    for (;;) {
      const status = await this.get(id)
      // Stopped by a person or by the circuit breaker: nobody should wait for that in a deploy script.
      const stopped = status.disabled || status.state === 'paused' || signal?.aborted === true
      if (stopped || finalStates.includes(status.state)) return status
      await sleep(100, signal)
    }
  }

  /** The kill switch: stops every run of a definition at once, also those started later, until it is enabled. */
  async disable(name: string, options: SwitchOptions = {}): Promise<void> {
    await disable(await this.#switching(), { name, options })
  }

  /** Lets a disabled definition run again. */
  async enable(name: string, options: SwitchOptions = {}): Promise<void> {
    await enable(await this.#switching(), { name, options })
  }

  /**
   * The kill switch for the whole database: no operation works, in whatever process, until {@link Operations.enableAll}.
   * It holds from the next sub-batch on.
   */
  async disableAll(options: SwitchOptions = {}): Promise<Standstill> {
    return disableAll(await this.#switching(), options)
  }

  /** Lets operations work again, each where it stands; false: they could all along. */
  async enableAll(options: SwitchOptions = {}): Promise<boolean> {
    return enableAll(await this.#switching(), options)
  }

  /** Whether all operations are disabled: by whom, why, and since when; undefined: they are not. */
  async standstill(): Promise<Standstill | undefined> {
    const [found] = await findStandstill((await this.#deps.database()).control)
    return found
  }

  /** The ranges of an operation that could not be processed and were not retried, with their errors. */
  async quarantined(id: string, { limit = 100 }: { limit?: number } = {}): Promise<quarantine.QuarantinedRange[]> {
    const { control } = await this.#deps.database()
    return quarantine.list(control, { operationId: (await this.get(id)).id, limit })
  }

  async #switching(): Promise<{ database: Database; telemetry: Telemetry }> {
    return { database: await this.#deps.database(), telemetry: this.#deps.telemetry }
  }

  /** An operation as others may see it. */
  #seen(view: OperationView, place?: Place): OperationStatus {
    const { registry, redact } = this.#deps
    const paths = registry.has(view.name) ? registry.find(view.name).redact : redact
    return statusOf({ ...view, args: mask(view.args, paths) }, place)
  }

  /** One guarded change; when it finds nothing to change, says why. Doing again what is done changes nothing. */
  async #act(
    verb: OperationVerb,
    id: string,
    { options, already, run }: { options: VerbOptions; already: string[]; run: typeof lifecycle.pause },
  ): Promise<OperationStatus> {
    const before = checkExpected(await this.get(id), options)
    const { reason = null, actor = null, expectedState } = options
    // The guard of the statement, too: it may change between the look and the act.
    const from = verbs[verb].filter((state) => expectedState === undefined || state === expectedState)
    const changed = await audited(await this.#deps.database(), options, async (tx) => {
      const [was] = await lockOperation(tx, { id })
      const [result] = await run(tx, { id, from, reason, actor })
      const states = { before: { status: was?.status ?? before.state }, after: { status: result?.status ?? '' } }
      return { result, act: result && { action: `operation.${verb}`, target: id, ...states } }
    })
    const after = await this.get(id)
    if (changed === undefined) checkExpected(after, options)
    if (changed === undefined && !already.includes(after.state)) throw refused(verb, before)
    return after
  }
}

function refused(verb: OperationVerb, { id, name, state }: OperationStatus): SluiceError {
  return new SluiceError('OPERATION_STATE', {
    message: `"${name}" (${id}) is ${state.replaceAll('_', ' ')}; ${verb} is possible when it is ${verbs[verb].join(', ').replaceAll('_', ' ')}.`,
    details: { id, state, verb, possible: verbs[verb] },
  })
}
