import { defineOperation, finalStates, sql, transitions, type OperationState } from '../../src/index.ts'
import { remember, tripReason, type Outcomes } from '../../src/operations/breaker.ts'
import { settleOperations } from '../../src/operations/chores.ts'
import type { OperationDefinition } from '../../src/operations/definition.ts'
import { Operations } from '../../src/operations/operations.ts'
import { Registry } from '../../src/runtime/registry.ts'
import { postgresTarget } from '../../src/targets/postgres/target.ts'
import { runBatch } from '../../src/operations/batch-loop.ts'
import { Sizes } from '../../src/operations/sizes.ts'
import { Belonging } from '../../src/operations/belonging.ts'
import { Cuts } from '../../src/operations/cuts.ts'
import { takeBatch, type Taken } from '../../src/operations/take.ts'
import { walkOf } from '../../src/operations/walk.ts'
import { uuidv7 } from '../../src/std/uuid.ts'
import { rescue } from '../../src/store/batches.ts'
import type { Database } from '../../src/store/database.ts'
import { Telemetry } from '../../src/telemetry/telemetry.ts'
import type { TestDatabase } from '../support/database.ts'
import { ungoverned } from '../support/ungoverned.ts'

export interface Variant {
  rows: number
  lanes: number
  verify: boolean
  until: 'end' | 'empty'
  /** A row that cannot be processed from the beginning; 0: none. */
  bad: number
}

/** How a worker leaves: it stops in order, dies between two sub-batches, or dies in the middle of one. */
export type Leaving = 'stops' | 'dies between' | 'dies inside'

const leaseMs = 60_000
const subBatchSize = 5

/** What must hold between any two commands; each is a number of offenders but for the first two. */
interface Facts {
  changed: number
  quarantined: number
  strange: number
  isolated_but_done: number
  overlapping: number
  carved_twice: number
  unleased: number
  lost: number
  left: number
  twins: number
}

/** One table with one operation on it, worked on by the engine's own pieces: what commands act upon. */
export class Bench {
  readonly #db: TestDatabase
  readonly #database: Database
  readonly #registry: Registry<OperationDefinition>
  readonly #cuts: Cuts
  readonly #telemetry = new Telemetry()
  readonly #outcomes = new Map<string, Outcomes>()
  readonly #table: string
  readonly #variant: Variant
  readonly definition: OperationDefinition<undefined>
  readonly operations: Operations
  /** Batches of workers that died; one of them may only have slept. */
  readonly #zombies: Taken[] = []
  /** Called in the middle of each sub-batch. */
  #amid: () => void = () => undefined
  /** The last key that the operation must do. */
  #end = 0
  id: string | undefined

  constructor(nth: number, variant: Variant, { db, database }: { db: TestDatabase; database: Database }) {
    this.#db = db
    this.#database = database
    this.#variant = variant
    this.#table = `walked_${nth}`
    const { lanes, verify, until } = variant
    this.definition = defineOperation({
      name: `model-${nth}`,
      table: this.#table,
      batchSize: 15,
      subBatchSize,
      lanes,
      verify,
      until,
      // Only a second pass needs to know what is done; without a scope, a row that is done twice shows.
      ...(verify ? { scope: () => sql`n = 0` } : {}),
      perform: async ({ batch }) => {
        const rows = await batch.rows<{ bad: boolean }>()
        const changed = await batch.update(sql`n = n + 1`)
        this.#amid()
        if (rows.some(({ bad }) => bad)) throw new RangeError('a bad row')
        return changed
      },
    })
    this.#registry = new Registry('operation', [this.definition])
    this.#cuts = new Cuts({ target: postgresTarget(database), registry: this.#registry, carveMs: 2_000 })
    this.operations = new Operations({
      database: async () => database,
      target: async () => postgresTarget(database),
      registry: this.#registry,
      telemetry: this.#telemetry,
      redact: [],
      work: () => Promise.reject(new Error('the bench has its own workers')),
    })
  }

  async open(): Promise<void> {
    await this.#db.query(
      `create table ${this.#table} (id int primary key, n int not null default 0, bad boolean not null default false)`,
    )
    await this.grow(this.#variant.rows)
    await this.spoil(this.#variant.bad, 1)
  }

  async close(): Promise<void> {
    await this.operations.enable(this.definition.name)
    if (this.id !== undefined) await this.operations.cancel(this.id).catch(() => undefined)
    await this.#db.query(`drop table ${this.#table}`)
  }

  /** Adds rows ahead of the walk. */
  async grow(rows: number): Promise<void> {
    await this.#db.query(
      `insert into ${this.#table} (id)
       select at from (select coalesce(max(id), 0) as last from ${this.#table}) t, generate_series(last + 1, last + $1) at`,
      [rows],
    )
  }

  async spoil(first: number, rows: number): Promise<void> {
    await this.#db.query(`update ${this.#table} set bad = true where id between $1 and $1 + $2 - 1`, [first, rows])
  }

  async mend(): Promise<void> {
    await this.#db.query(`update ${this.#table} set bad = false`)
  }

  async state(): Promise<OperationState | undefined> {
    return this.id === undefined ? undefined : (await this.operations.get(this.id)).state
  }

  /** Starts the operation; when the last one is over, its marks are wiped off first. */
  async start(): Promise<{ duplicate: boolean }> {
    const state = await this.state()
    if (state === undefined || finalStates.includes(state)) {
      await this.#db.query(`update ${this.#table} set n = 0`)
      this.#end = await this.#db.value<number>(`select max(id) from ${this.#table}`)
    }
    const { id, duplicate } = await this.operations.start(this.definition)
    this.id = id
    return { duplicate }
  }

  /** Lets some workers do so many sub-batches together, or as many as there are. */
  async work({ hands, subBatches, leaving }: { hands: number; subBatches: number; leaving: Leaving }): Promise<void> {
    const stopping = new AbortController()
    const dead = new AbortController()
    let left = subBatches
    const leave = (): void => (leaving === 'stops' ? stopping : dead).abort()
    const unsubscribe = this.#telemetry.on('sub-batch.committed', () => {
      left -= 1
      if (left <= 0 && leaving !== 'dies inside') leave()
    })
    this.#amid = () => {
      if (leaving !== 'dies inside' || left > 1) return
      dead.abort()
      throw new Error('the worker died')
    }
    const work = async (): Promise<void> => {
      const workerId = uuidv7()
      while (!stopping.signal.aborted && !dead.signal.aborted) {
        const taken = await this.#take(workerId)
        if (taken === undefined) return
        await this.#run(taken, { stopping: stopping.signal, lost: dead.signal })
        if (dead.signal.aborted) this.#zombies.push(taken)
      }
    }
    await Promise.all(Array.from({ length: hands }, work))
    unsubscribe()
    this.#amid = () => undefined
    if (!dead.signal.aborted) await this.settle()
  }

  async settle(): Promise<void> {
    await settleOperations({ database: this.#database, telemetry: this.#telemetry, registry: this.#registry })
  }

  /** Lets leases of dead workers run out, and others notice. */
  async expire(): Promise<void> {
    await this.#db.query(
      `update sluice.batch set lease_until = clock_timestamp() - interval '1 second'
       where operation_id = $1 and state = 'running'`,
      [this.id],
    )
    await rescue(this.#database.control)
    await this.settle()
  }

  /** A worker that was taken for dead goes on where it was. */
  async wake(): Promise<void> {
    const taken = this.#zombies.shift()
    if (taken === undefined) return
    const never = new AbortController().signal
    await this.#run(taken, { stopping: never, lost: never })
    await this.settle()
  }

  /** Drives the operation to its end, whatever state it is in. */
  async finish(): Promise<void> {
    await this.operations.enable(this.definition.name)
    for (let round = 0; round < 50; round++) {
      await this.expire()
      const state = await this.state()
      if (this.id === undefined || state === undefined || finalStates.includes(state)) return
      if (state === 'paused' || state === 'held') await this.operations.resume(this.id)
      await this.work({ hands: 2, subBatches: 1_000, leaving: 'stops' })
    }
    throw new Error(`it does not come to its end: ${JSON.stringify(await this.operations.get(this.id ?? ''))}`)
  }

  /** Every broken invariant, in words. */
  async faults(): Promise<string[]> {
    if (this.id === undefined) return []
    const status = await this.operations.get(this.id)
    const facts = await this.#facts()
    const { rowsSeen, rowsMatched, rowsChanged, rowsQuarantined, state } = status
    const met = facts.changed + facts.quarantined
    const over = state === 'finished' || state === 'finished_with_quarantine'
    const claims: [boolean, string][] = [
      [rowsChanged === facts.changed, `it counts ${rowsChanged} changed rows, the table ${facts.changed}`],
      [rowsQuarantined === facts.quarantined, `it counts ${rowsQuarantined} in quarantine of ${facts.quarantined}`],
      [rowsMatched === met, `it counts ${rowsMatched} matched rows of ${met}`],
      // A second pass may see again what a retry has done meanwhile.
      [rowsSeen === met || (this.#variant.verify && rowsSeen > met), `it counts ${rowsSeen} seen rows of ${met}`],
      [facts.strange === 0, `${facts.strange} rows were done more than once`],
      [facts.isolated_but_done === 0, `${facts.isolated_but_done} rows are done and in quarantine`],
      [facts.overlapping === 0, `${facts.overlapping} pairs of batches overlap`],
      [facts.carved_twice === 0, `${facts.carved_twice} ranges were carved twice`],
      [facts.unleased === 0, `${facts.unleased} running batches have no lease`],
      [facts.twins <= 1, `${facts.twins} unfinished operations are equal`],
      [facts.lost === 0, `${facts.lost} rows behind the carver are in no batch`],
      [!over || facts.left === 0, `it is ${state}, and ${facts.left} rows are neither done nor in quarantine`],
      [!over || (state === 'finished') === (facts.quarantined === 0), `it is ${state} with ${facts.quarantined}`],
    ]
    return [...claims.filter(([holds]) => !holds).map(([, fault]) => fault), ...(await this.#strangeTransitions())]
  }

  async #facts(): Promise<Facts> {
    const [facts] = await this.#db.query<Facts>(
      `with o as (
         select * from sluice.operation where id = $1
       ), isolated as (
         select int4range(lower_key[1]::int, upper_key[1]::int, '(]') as keys, rows
         from sluice.quarantine where operation_id = $1 and retried_at is null
       ), live as (
         select id, seq, pass, int4range(lower_key[1]::int, upper_key[1]::int, '(]') as keys,
           int4range(checkpoint[1]::int, upper_key[1]::int, '(]') as remaining, state, nonce, lease_until
         from sluice.batch where operation_id = $1
       ), carved as (
         select id, pass, keys from live where seq > 0
         union all
         select id, pass, int4range(lower_key[1]::int, upper_key[1]::int, '(]')
         from sluice.batch_history where operation_id = $1 and seq > 0
       ), undone as (
         select t.id from ${this.#table} t
         where n = 0 and not exists (select from isolated i where t.id <@ i.keys)
       )
       select
         (select count(*) from ${this.#table} where n = 1)::int as changed,
         (select coalesce(sum(rows), 0) from isolated)::int as quarantined,
         (select count(*) from ${this.#table} where n not in (0, 1))::int as strange,
         (select count(*) from ${this.#table} t join isolated i on t.id <@ i.keys where n > 0)::int as isolated_but_done,
         (select count(*) from live a join live b on a.id < b.id and a.pass = b.pass and a.remaining && b.remaining)::int
           as overlapping,
         (select count(*) from carved a join carved b on a.id < b.id and a.pass = b.pass and a.keys && b.keys)::int
           as carved_twice,
         (select count(*) from live where state = 'running' and (nonce is null or lease_until is null))::int as unleased,
         (select count(*) from undone u, o
          where u.id <= o.carved_to[1]::int and not exists (select from live l where u.id <@ l.remaining))::int as lost,
         (select count(*) from undone where id <= $2)::int as left,
         (select count(*) from sluice.operation where name = $3)::int as twins`,
      [this.id, this.#end, this.definition.name],
    )
    if (facts === undefined) throw new Error('no facts')
    return facts
  }

  async #strangeTransitions(): Promise<string[]> {
    const rows = await this.#db.query<{ from_status: OperationState; to_status: string }>(
      `select distinct from_status, to_status from sluice.transition where operation_id = $1 and from_status is not null`,
      [this.id],
    )
    return rows
      .filter(({ from_status, to_status }) => !(to_status in transitions[from_status]))
      .map(({ from_status, to_status }) => `${from_status} -> ${to_status} is not in the table of states`)
  }

  #take(workerId: string): Promise<Taken | undefined> {
    return takeBatch({
      database: this.#database,
      target: postgresTarget(this.#database),
      telemetry: this.#telemetry,
      registry: this.#registry,
      governor: ungoverned,
      workerId,
      leaseMs,
      carveMs: 2_000,
      cuts: this.#cuts,
      belonging: new Belonging({
        database: this.#database,
        target: postgresTarget(this.#database),
        telemetry: this.#telemetry,
      }),
    })
  }

  async #run(
    { operation, batch }: Taken,
    { stopping, lost }: { stopping: AbortSignal; lost: AbortSignal },
  ): Promise<void> {
    const claim = { batchId: batch.id, nonce: batch.nonce }
    await runBatch({
      database: this.#database,
      target: postgresTarget(this.#database),
      telemetry: this.#telemetry,
      governor: ungoverned,
      operation,
      batch,
      held: { ...claim, signal: lost, progress: () => undefined, moving: () => false, drop: () => undefined },
      definition: this.definition,
      walk: walkOf(operation),
      leaseMs,
      stopping,
      ending: new AbortController().signal,
      outcomes: this.#outcomesOf(operation.id),
      sizes: new Sizes(),
      cuts: this.#cuts,
      trusted: async () => undefined,
    })
  }

  #outcomesOf(id: string): { ok(): void; isolated(fingerprint: string): string | undefined } {
    const add = (outcome: string): string | undefined => {
      const outcomes = remember(this.#outcomes.get(id) ?? [], outcome)
      const reason = tripReason(outcomes)
      this.#outcomes.set(id, reason === undefined ? outcomes : [])
      return reason
    }
    return { ok: () => void add('ok'), isolated: add }
  }
}
