import type { JobQueue } from '../../jobs/queue.ts'
import { errorRecord } from '../../std/error-record.ts'
import type { StoreConnection } from '../../store/connection.ts'
import type { Database } from '../../store/database.ts'
import { find } from '../../store/operations.ts'
import * as store from '../../store/schedules.ts'
import { classify, sqlstate } from '../../store/sqlstate.ts'
import type { Telemetry } from '../../telemetry/telemetry.ts'
import { decide, isBlocking, type Step } from './decide.ts'
import type { ScheduleDefinition, ScheduleTarget } from './define.ts'
import { inTurn } from './turns.ts'

/** A run of a schedule. */
export interface Run {
  kind: 'job' | 'operation'
  id: number | string
}

/** Starts what a schedule is for, in the given transaction. */
export type Start = (
  target: ScheduleTarget,
  args: unknown,
  tx: StoreConnection,
) => Promise<{ id: number | string; duplicate: boolean }>

export interface SettleTools {
  database: Database
  queue: JobQueue
  telemetry: Telemetry
  start: Start
}

/**
 * `settled`: one tick is done, there may be more. `blocked`: one waits for the run before it. `busy`: another worker is
 * at this schedule, or it is not as our code has it. `idle`: nothing is due.
 */
type Outcome = 'settled' | 'blocked' | 'busy' | 'idle'

/** The tick has a row, though it was not considered. */
class TickTaken extends Error {
  override readonly name = 'TickTaken'
}

/**
 * Settles the next due tick of a schedule: in one transaction that locks the schedule, looks what is due by the
 * database's clock, starts the run, and writes the tick's row. Whatever happens, all of it is there or nothing.
 */
export async function settleNext(definition: ScheduleDefinition, tools: SettleTools): Promise<Outcome> {
  const { database, telemetry } = tools
  let step: Step | undefined
  try {
    const settling = async (tx: StoreConnection): Promise<store.NewTick | Outcome> => {
      const [row] = await store.lock(tx, { name: definition.name, ...ruleOf(definition) })
      if (row === undefined) return 'busy'
      step = decide(definition, { consideredTo: row.considered_to, now: row.now })
      return step === undefined ? 'idle' : settleStep(tx, { definition, row, step }, tools)
    }
    const settled = await inTurn(database, () => database.control.transaction(settling))
    if (typeof settled === 'string') return settled
    report(telemetry, settled)
    return 'settled'
  } catch (error) {
    if (step === undefined) throw error
    return afterError(error, { definition, step }, tools)
  }
}

/** What is the same for a tick and its schedule. */
function ruleOf({ rule, calendar: { zone } }: ScheduleDefinition): { rule: string; zone: string } {
  return { rule, zone }
}

async function settleStep(
  tx: StoreConnection,
  { definition, row, step }: { definition: ScheduleDefinition; row: store.ScheduleRow; step: Step },
  { queue, start }: SettleTools,
): Promise<store.NewTick | 'blocked'> {
  const about = { schedule: definition.name, tick: step.tick, missed: step.missed, ...nothing }
  if (step.late) return write(tx, { ...about, outcome: 'skipped', reason: 'nobody was there when it was due' })
  const blocker = await blockerOf({ connection: tx, queue }, definition, row)
  if (blocker !== undefined) {
    if (definition.overlap === 'queue') return 'blocked'
    return write(tx, { ...about, outcome: 'skipped', reason: `blocked by ${nameOf(blocker)}` })
  }
  return write(tx, { ...about, ...(await startRun(tx, definition, { tick: step.tick, start })) })
}

const nothing = { reason: null, job_id: null, operation_id: null, actor: null }

/** Starts a run and tells what its tick says of it. */
export async function startRun(
  tx: StoreConnection,
  { target, argsAt }: ScheduleDefinition,
  { tick, start }: { tick: Date; start: Start },
): Promise<Pick<store.NewTick, 'outcome' | 'reason' | 'job_id' | 'operation_id'>> {
  const { id, duplicate } = await start(target, argsAt(tick), tx)
  return {
    outcome: 'started',
    reason: duplicate ? `an equal ${target.kind} was there already` : null,
    job_id: target.kind === 'job' ? Number(id) : null,
    operation_id: target.kind === 'operation' ? String(id) : null,
  }
}

async function write(tx: StoreConnection, tick: store.NewTick): Promise<store.NewTick> {
  const [settled] = await store.settle(tx, tick)
  if (settled === undefined) throw new TickTaken()
  return tick
}

/** The run that stands in the way of the next, if there is one. */
export async function blockerOf(
  where: { connection: StoreConnection; queue: JobQueue },
  policy: Pick<ScheduleDefinition, 'overlap' | 'deadlineMs'>,
  row: store.ScheduleRow,
): Promise<Run | undefined> {
  const run = lastRunOf(row)
  if (policy.overlap === 'allow' || run === undefined || row.last_started_at === null) return undefined
  const last = { startedAt: row.last_started_at, over: await isOver(where, run) }
  return isBlocking(policy, last, row.now) ? run : undefined
}

function lastRunOf({ last_job_id, last_operation_id }: store.ScheduleRow): Run | undefined {
  if (last_job_id !== null) return { kind: 'job', id: last_job_id }
  return last_operation_id === null ? undefined : { kind: 'operation', id: last_operation_id }
}

/** What is in no table any more was over long ago. */
async function isOver({ connection, queue }: Parameters<typeof blockerOf>[0], { kind, id }: Run): Promise<boolean> {
  if (kind === 'job') return !(await queue.read('live', { id: Number(id), tx: connection }))
  const [operation] = await find(connection, { id: String(id) })
  return operation === undefined || operation.finished_at !== null
}

/** A run in words: `job 12`. */
export function nameOf({ kind, id }: Run): string {
  return `${kind} ${id}`
}

/** Errors of the moment are for the next round; with any other the tick is settled as failed, and its schedule goes on. */
async function afterError(
  error: unknown,
  { definition, step }: { definition: ScheduleDefinition; step: Step },
  { database, telemetry }: SettleTools,
): Promise<Outcome> {
  const { name } = definition
  const { tick, missed } = step
  if (error instanceof TickTaken) {
    await store.consider(database.control, { name, upTo: tick })
    return 'settled'
  }
  if (lacksPartition(error)) {
    await store.createTickPartitions(database.control, { around: tick })
    return 'settled'
  }
  if (['connection', 'retry', 'hold'].includes(classify(error))) throw error
  const { message } = errorRecord(error)
  const failed = { ...nothing, schedule: name, tick, missed, outcome: 'failed', reason: message } as const
  const [settled] = await store.settle(database.control, failed)
  if (settled !== undefined) report(telemetry, failed)
  return 'settled'
}

/** So old a tick has no partition, or no worker was there for weeks to make one. */
export function lacksPartition(error: unknown): boolean {
  return sqlstate(error) === '23514' && (error as { table?: unknown }).table === 'schedule_tick'
}

/** Says what became of a tick. */
export function report(telemetry: Telemetry, written: store.NewTick): void {
  const { schedule, tick, outcome, reason, missed, job_id: jobId, operation_id: operationId, actor } = written
  const about = { schedule, tick: tick ?? new Date(), missed }
  if (outcome === 'started') return telemetry.emit('schedule.ticked', { ...about, jobId, operationId, actor })
  telemetry.emit(outcome === 'failed' ? 'schedule.failed' : 'schedule.skipped', { ...about, reason: reason ?? '' })
}
