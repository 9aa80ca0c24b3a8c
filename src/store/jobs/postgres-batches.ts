import type { CallersTransaction, EnqueuedRow, NewJob } from '../../jobs/queue.ts'
import type { BatchStore, OpenOrder, UnclearBatch } from '../../patterns/batches/batch-store.ts'
import { callbackKinds, type BatchStatus, type FailedMember } from '../../patterns/batches/status.ts'
import type { Telemetry } from '../../telemetry/telemetry.ts'
import { audited } from '../audit.ts'
import { onTransaction, type StoreConnection } from '../connection.ts'
import type { Database } from '../database.ts'
import { refuseStale } from '../expected.ts'
import { failedMembers, listBatches, type BatchView } from '../job-batch-views.ts'
import * as store from '../job-batches.ts'
import { endMembers } from './end-members.ts'
import { enqueue } from './enqueue.ts'
import { numbered, type Enqueuer } from './enqueuer.ts'
import { reportBatches } from './endings.ts'
import type { PostgresQueue } from './postgres-queue.ts'
import { recount } from './recount.ts'

interface Deps {
  database: () => Promise<Database>
  telemetry: Telemetry
  queue: PostgresQueue
}

/** Members per statement. */
const perStatement = 1_000

/** Batches of jobs, beside their members. */
export class PostgresBatches implements BatchStore {
  readonly #deps: Deps
  readonly #enqueuer: Enqueuer

  constructor(deps: Deps) {
    this.#deps = deps
    this.#enqueuer = deps.queue.enqueuer
  }

  async open(order: OpenOrder): Promise<number> {
    const { control } = await this.#deps.database()
    const connection = order.tx === undefined ? control : onTransaction(order.tx, control.schema)
    await this.#enqueuer.meet(order.callbacks, order.tx === undefined ? undefined : connection)
    return this.#open(connection, order)
  }

  async run(order: OpenOrder & { members: readonly NewJob[] }): Promise<{ id: number; jobs: EnqueuedRow[] }> {
    const database = await this.#deps.database()
    const { tx, members } = order
    const named = [...order.callbacks, ...members]
    if (tx !== undefined) {
      const connection = onTransaction(tx, database.control.schema)
      await this.#enqueuer.meet(named, connection)
      const started = await this.#run(connection, order)
      this.#enqueuer.hintSoon(database)
      return started
    }
    await this.#enqueuer.meet(named)
    const started = await database.control.transaction((transaction) => this.#run(transaction, order))
    const keys = [...new Set(members.flatMap(({ key }) => (key === undefined ? [] : [key.name])))]
    await this.#enqueuer.admit(database, keys)
    await this.#enqueuer.tellAll()
    return started
  }

  async seal(id: number, tx?: CallersTransaction): Promise<void> {
    const { control } = await this.#deps.database()
    await this.#seal(tx === undefined ? control : onTransaction(tx, control.schema), id)
    this.#enqueuer.wake()
  }

  async cancel({ id, reason, who }: Parameters<BatchStore['cancel']>[0]): Promise<void> {
    const database = await this.#deps.database()
    const news = await audited(database, who, async (tx) => {
      const [was] = await store.lockBatch(tx, { id })
      if (typeof was?.state === 'string') refuseStale(`Batch ${id}`, was.state, who)
      const [cancelled] = await store.cancelBatch(tx, { id, reason })
      const result = cancelled?.news ?? []
      const states = { before: { state: was?.state ?? null }, after: { state: 'cancelled' } }
      const act = { action: 'batch.cancel', target: String(id), ...states }
      return { result, act: result.length === 0 ? undefined : act }
    })
    reportBatches(this.#deps.telemetry, news)
    await endMembers({ ...this.#deps, database }, { id, reason })
  }

  async list(query: Parameters<BatchStore['list']>[0]): Promise<BatchStatus[]> {
    return (await listBatches((await this.#deps.database()).control, query)).map(batchStatusOf)
  }

  async failures(query: { id: number; limit: number }): Promise<FailedMember[]> {
    return failedMembers((await this.#deps.database()).control, query)
  }

  async mend({ idleMs, keepDays }: { idleMs: number; keepDays: number }): Promise<UnclearBatch[]> {
    const database = await this.#deps.database()
    const unclear: UnclearBatch[] = []
    for (const { id } of await store.suspectBatches(database.control, { idleMs })) {
      const [mended] = await store.mendBatch(database.control, { id, keepDays })
      for (const news of mended?.news ?? []) {
        if (news.event === 'unclear') unclear.push(news)
        else reportBatches(this.#deps.telemetry, [news])
      }
    }
    for (const { id, reason } of await store.cancelledBatches(database.control)) {
      await endMembers({ ...this.#deps, database }, { id, reason })
    }
    return unclear
  }

  async recount(unclear: UnclearBatch, order: { keepDays: number; stopping: AbortSignal }): Promise<void> {
    const database = await this.#deps.database()
    reportBatches(this.#deps.telemetry, await recount(unclear, { ...order, database }))
  }

  async lacksPartitions(): Promise<boolean> {
    const [week] = await store.isBatchWeekMissing((await this.#deps.database()).control)
    return week?.missing === true
  }

  async maintain({ keepDays }: { keepDays: number }): Promise<void> {
    const { control } = await this.#deps.database()
    await store.createBatchPartitions(control)
    await store.dropBatchPartitions(control, { keepDays })
  }

  async #open(connection: StoreConnection, { spec, parentId, description }: OpenOrder): Promise<number> {
    const [opened] = await store.openBatch(connection, { spec })
    const batchId = Number(opened?.id)
    this.#deps.telemetry.emit('job-batch.opened', { batchId, parentId, description })
    return batchId
  }

  async #run(
    connection: StoreConnection,
    order: OpenOrder & { members: readonly NewJob[] },
  ): Promise<{ id: number; jobs: EnqueuedRow[] }> {
    const id = await this.#open(connection, order)
    const members = order.members.map((job) => ({ ...job, batch: { id } }))
    const jobs: EnqueuedRow[] = []
    for (let at = 0; at < members.length; at += perStatement) {
      const rows = await enqueue(connection, { jobs: members.slice(at, at + perStatement), notify: false })
      jobs.push(...rows.map(numbered))
    }
    await this.#seal(connection, id)
    return { id, jobs }
  }

  async #seal(connection: StoreConnection, id: number): Promise<void> {
    const [sealed] = await store.sealBatch(connection, { id })
    reportBatches(this.#deps.telemetry, sealed?.news ?? [])
  }
}

/** Turns a stored batch of jobs into a status. */
function batchStatusOf(view: BatchView): BatchStatus {
  const { total, succeeded, failed } = view
  return {
    id: view.id,
    parentId: view.parent_id,
    state: view.state,
    description: view.description,
    total,
    waiting: Math.max(0, total - succeeded - failed),
    succeeded,
    failed,
    callbacks: callbacksOf(view),
    reason: view.cancel_reason,
    openedAt: view.opened_at,
    sealedAt: view.sealed_at,
    finishedAt: view.finished_at,
  }
}

function callbacksOf({ declared, callbacks }: BatchView): BatchStatus['callbacks'] {
  return callbackKinds.flatMap((kind) => {
    const name = declared[kind]
    if (name === undefined) return []
    const called = callbacks?.find((callback) => callback.kind === kind)
    return [{ kind, name, jobId: called?.job_id ?? null, at: called === undefined ? null : new Date(called.at) }]
  })
}
