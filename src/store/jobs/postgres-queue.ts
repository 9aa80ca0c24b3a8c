import { claimKey, type Ending, type JobClaim } from '../../jobs/ending.ts'
import type {
  CallersTransaction,
  Claimed,
  ClaimFate,
  ClaimOrder,
  EndedBetween,
  EnqueuedRow,
  EnqueueOrder,
  HeldClaim,
  JobQueue,
  KeptHistory,
  NewJob,
  QueueActs,
  QueueReads,
  QueueWorker,
  RecordOrder,
  Rescued,
  RescueOrder,
  Settled,
  SettleOrder,
  Unbound,
} from '../../jobs/queue.ts'
import type { Telemetry } from '../../telemetry/telemetry.ts'
import type { StoreConnection } from '../connection.ts'
import type { Database } from '../database.ts'
import { sqlstate } from '../sqlstate.ts'
import { acts } from './act.ts'
import { Claimer } from './claimer.ts'
import { reportBatches, writeEndings } from './endings.ts'
import { Enqueuer } from './enqueuer.ts'
import { HintWindow } from './hints.ts'
import { listenForJobs } from './listener.ts'
import { Maintenance, rescueSilent } from './maintenance.ts'
import { reads } from './reads.ts'
import { completedAmong } from './recall.ts'
import { watchRunning } from './rescue.ts'
import { runInTransaction } from './transaction.ts'

interface Deps {
  database: () => Promise<Database>
  telemetry: Telemetry
}

/** Jobs in the PostgreSQL database of the application. */
export class PostgresQueue implements JobQueue {
  readonly #deps: Deps
  /** Workers of this process that listen. */
  readonly #listening = new Set<QueueWorker>()
  readonly #memories = new WeakMap<QueueWorker, Promise<WorkerMemory>>()
  /** @internal For batches of jobs, which are recorded together with their members. */
  readonly enqueuer: Enqueuer

  constructor(deps: Deps) {
    this.#deps = deps
    this.enqueuer = new Enqueuer({ ...deps, workers: this.#listening })
  }

  enqueue(jobs: readonly NewJob[], order?: EnqueueOrder): Promise<EnqueuedRow[]>
  enqueue<T>(jobs: readonly Unbound[], order: RecordOrder<T>): Promise<T>
  async enqueue(
    jobs: readonly NewJob[] | readonly Unbound[],
    order: EnqueueOrder | RecordOrder<unknown> = {},
  ): Promise<unknown> {
    return 'record' in order ? this.enqueuer.record(jobs, order) : this.enqueuer.enqueue(jobs as NewJob[], order)
  }

  async act<K extends keyof QueueActs>(act: K, order: QueueActs[K]['order']): Promise<QueueActs[K]['done']> {
    const database = await this.#deps.database()
    return acts[act]({ database, telemetry: this.#deps.telemetry, enqueuer: this.enqueuer }, order)
  }

  async read<K extends keyof QueueReads>(what: K, query: QueueReads[K]['query']): Promise<QueueReads[K]['found']> {
    return reads[what]((await this.#deps.database()).control, query)
  }

  async *claim(worker: QueueWorker, order: ClaimOrder): AsyncGenerator<Claimed, void> {
    yield* (await this.#memoryOf(worker)).claim(order)
  }

  async settle(worker: QueueWorker, { lockMs, ...what }: SettleOrder): Promise<Settled> {
    const { control } = (await this.#memoryOf(worker)).database
    const order = { ...what, lockMs, workerId: worker.workerId }
    const single = what.endings.every((ending) => ending.kind === 'completed' && !ending.keyed)
    const limits = lockMs === undefined ? {} : { lockMs }
    try {
      const { ids, admitted, news } = single
        ? await writeEndings(control, order)
        : await control.transaction((transaction) => writeEndings(transaction, order), limits)
      reportBatches(this.#deps.telemetry, news)
      if (admitted > 0) worker.hint.notify()
      return { kept: ids }
    } catch (error) {
      if (lockMs !== undefined && sqlstate(error) === '55P03') return 'busy'
      throw error
    }
  }

  async transact(
    worker: QueueWorker,
    claim: HeldClaim,
    work: (tx: CallersTransaction) => Promise<Ending>,
  ): Promise<Ending | undefined> {
    const { database } = await this.#memoryOf(worker)
    const { workerId } = worker
    const { ending, admitted, news } = await runInTransaction({ database, workerId }, claim, work)
    reportBatches(this.#deps.telemetry, news)
    if (admitted > 0) worker.hint.notify()
    return ending
  }

  async look(
    worker: QueueWorker,
    claims: readonly JobClaim[],
    ended?: EndedBetween,
  ): Promise<ReadonlyMap<string, ClaimFate>> {
    const { database } = await this.#memoryOf(worker)
    if (ended !== undefined) {
      const completed = await completedAmong(claims, ended, { database, telemetry: this.#deps.telemetry })
      return new Map([...completed].map((key) => [key, 'completed']))
    }
    const rows = await watchRunning(database.control, { claims })
    return new Map(
      rows.map(({ id, claim_id: claimId, cancelling }) => [
        claimKey({ id, claimId }),
        cancelling === null ? 'held' : { cancelling },
      ]),
    )
  }

  async rescue(worker: QueueWorker, { silent, known }: RescueOrder): Promise<Rescued> {
    const { database, claimer } = await this.#memoryOf(worker)
    const { telemetry } = this.#deps
    const none = { freed: [], isolated: [] }
    const rescued = silent === undefined ? none : await rescueSilent({ database, telemetry }, silent)
    const returned = known === undefined ? 0 : await claimer.giveBackStrays(known)
    if (rescued.freed.length > 0 || returned > 0) worker.hint.notify()
    return { ...rescued, returned }
  }

  async listen(worker: QueueWorker, signal: AbortSignal): Promise<void> {
    this.#listening.add(worker)
    try {
      await (await this.#memoryOf(worker)).listen(signal)
    } finally {
      this.#listening.delete(worker)
    }
  }

  async maintain(worker: QueueWorker, kept?: KeptHistory): Promise<{ more: boolean }> {
    const { admitted, more } = await (await this.#memoryOf(worker)).maintenance.turn(kept)
    if (admitted > 0) worker.hint.notify()
    return { more }
  }

  /** What a worker has learned stays with the database that it began on. */
  #memoryOf(worker: QueueWorker): Promise<WorkerMemory> {
    const known = this.#memories.get(worker)
    if (known !== undefined) return known
    const { database, telemetry } = this.#deps
    const made = database().then((opened) => new WorkerMemory(worker, { database: opened, telemetry }))
    made.catch(() => this.#memories.delete(worker))
    this.#memories.set(worker, made)
    return made
  }
}

/** What the store remembers for one worker, and how that worker hears of new jobs. */
class WorkerMemory {
  readonly database: Database
  readonly claimer: Claimer
  readonly maintenance: Maintenance
  readonly #worker: QueueWorker
  readonly #telemetry: Telemetry
  /** The next claim follows a hint that other workers got, too. */
  #contested = false
  readonly #hints = new HintWindow(() => {
    this.#contested = true
    this.#worker.hint.notify()
  })

  constructor(worker: QueueWorker, { database, telemetry }: { database: Database; telemetry: Telemetry }) {
    this.#worker = worker
    this.#telemetry = telemetry
    this.database = database
    this.claimer = new Claimer(database, worker)
    this.maintenance = new Maintenance(database)
  }

  async *claim(order: ClaimOrder): AsyncGenerator<Claimed, void> {
    await this.claimer.open()
    const contested = this.#contested ? this.#hints.last : undefined
    this.#contested = false
    const began = performance.now()
    let found = false
    const taking = this.claimer.take(order)
    let next = await taking.next()
    for (; next.done !== true; next = await taking.next()) {
      found = true
      yield next.value
    }
    if (contested === undefined) return
    this.#hints.looked({ found, tookMs: performance.now() - began })
    this.claimer.tellOthers(next.value, contested)
  }

  async listen(signal: AbortSignal): Promise<void> {
    // Behind a pooler nobody can listen: sessions are shared.
    if (this.database.pooled) return aborted(signal)
    const onOpen = (connection: StoreConnection | undefined): void => {
      this.claimer.sendOn(connection)
      // Something may have come while nobody listened.
      if (connection !== undefined) this.#worker.hint.notify()
    }
    const onHint = (payload: string): void => this.#hints.hear(payload, this.claimer)
    await listenForJobs({ database: this.database.options, telemetry: this.#telemetry, signal, onOpen, onHint })
  }
}

async function aborted(signal: AbortSignal): Promise<void> {
  if (!signal.aborted)
    await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
}
