import type { Alerts } from './observe/alerts/alerts.ts'
import type { BatchStore } from './patterns/batches/batch-store.ts'
import { BatchCrew } from './patterns/batches/crew.ts'
import type { ResolvedConfig } from './config/resolve.ts'
import type { Governor } from './governor/governor.ts'
import { InboxCrew } from './patterns/inbox/crew.ts'
import type { Inboxes } from './patterns/inbox/inboxes.ts'
import type { ContextTools } from './jobs/context.ts'
import type { Jobs } from './jobs/jobs.ts'
import type { JobQueue } from './jobs/queue.ts'
import { JobWorker } from './jobs/worker.ts'
import type { Known } from './registries.ts'
import type { OperationRegistry } from './operations/definition.ts'
import { Worker } from './operations/worker.ts'
import { ReconcilerCrew } from './patterns/reconcilers/crew.ts'
import type { Crew } from './runtime/crew.ts'
import type { Recorder } from './observe/samples/recorder.ts'
import { ScheduleCrew } from './patterns/schedules/crew.ts'
import type { Start } from './patterns/schedules/settle.ts'
import { rowOf } from './patterns/schedules/status.ts'
import type { Database } from './store/database.ts'
import { postgresTarget } from './targets/postgres/target.ts'
import { keptRule } from './store/schedules.ts'
import { SweepCrew } from './patterns/sweeps/crew.ts'
import type { Telemetry } from './telemetry/telemetry.ts'

/** What those who work need of a process. */
export interface Place {
  config: ResolvedConfig
  database: Database
  telemetry: Telemetry
  governor: Governor
  recorder: Recorder
  known: Known
  /** The verbs that everybody has, and crews use. */
  verbs: { jobs: Jobs; inboxes: Inboxes; alerts: Alerts }
  queue: JobQueue
  batches: BatchStore
  context: Required<Pick<ContextTools, 'enqueue' | 'batch'>>
  start: Start
}

/** Those who work in a process: one worker, with all crews beside it, and the one that is woken by name. */
export interface Shift {
  worker: Worker
  sweepCrew: SweepCrew
}

/** Lets all crews begin. */
export async function beginShift(place: Place): Promise<Shift> {
  const { config, database, telemetry, governor, known, queue } = place
  const tools = { queue, telemetry, registry: known.jobs, db: database.work, ...place.context }
  const jobWorker = new JobWorker(config.jobWorker, tools)
  const { pollMs } = config.worker
  const sweepCrew = await SweepCrew.assemble({ database, telemetry, registry: known.sweeps, pollMs })
  const crews = [governor, jobWorker, sweepCrew, ...othersOf(place)]
  const { queues, concurrency } = config.jobWorker
  const rules = known.schedules.definitions.map((schedule) => keptRule(rowOf(schedule)))
  const able = { jobs: known.jobs.names, sweeps: known.sweeps.names, rules }
  const skills = { ...able, queues: Object.keys(queues ?? {}), concurrency }
  const keeps = { schedules: known.schedules.names, reconcilers: known.reconcilers.names }
  await database.replica?.check(database.control)
  const target = postgresTarget(database)
  const parts = { database, target, telemetry, registry: known.operations, governor, crews, skills, keeps }
  const worker = new Worker(config.worker, parts)
  await worker.start()
  return { worker, sweepCrew }
}

/** Lets a worker begin with some operations, and nothing else. */
export async function beginOperations(place: Place, registry: OperationRegistry): Promise<Worker> {
  const { config, database, telemetry, governor } = place
  await database.replica?.check(database.control)
  const target = postgresTarget(database)
  const worker = new Worker(config.worker, { database, target, registry, telemetry, governor, crews: [governor] })
  await worker.start()
  return worker
}

/** The crews that nobody has to reach. */
function othersOf(place: Place): Crew[] {
  const { config, database, telemetry, governor, known, recorder, start, queue } = place
  const { jobs, alerts } = place.verbs
  const { keepDays } = config.worker
  const received = { database, telemetry, registry: known.inboxes, queue }
  const looks = { signals: () => governor.readings(), taken: () => alerts.judge(), keepDays: config.keepSampleDays }
  return [
    new ScheduleCrew({ database, queue, telemetry, registry: known.schedules, start, keepDays }),
    new BatchCrew(config.jobWorker, { store: place.batches, telemetry }),
    new InboxCrew(config.jobWorker, received),
    recorder.crew(looks, database),
    new ReconcilerCrew(known.reconcilers, { database, telemetry, jobs, queue }),
  ]
}
