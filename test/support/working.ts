import { Sluice, type OperationDefinition, type OperationStatus, type SluiceConfig } from '../../src/index.ts'
import { testDatabase, type TestDatabase } from './database.ts'
import { EventLog } from './events.ts'
import { patiently } from './patience.ts'
import { testProfile } from './worker.ts'

/** A database with a table of numbered rows, each with a counter that tells how often it was changed. */
export async function counters(rows: number): Promise<TestDatabase> {
  const db = await testDatabase()
  await db.query(
    'create table counters (id bigint primary key, n int not null default 0, done boolean not null default false)',
  )
  await addRows(db, 1, rows)
  return db
}

export async function addRows(db: TestDatabase, from: number, to: number): Promise<void> {
  await db.query('insert into counters (id) select generate_series($1::int, $2::int)', [from, to])
}

/** For tests in which nobody may be taken for dead, however busy the machine is. */
export const patient = {
  worker: { ...testProfile.worker, lease: patiently(20_000), noProgress: patiently(40_000) },
} as const

/** A worker in this process, to be started, and all that it says. */
export function working(
  db: TestDatabase,
  operations: OperationDefinition[],
  config: SluiceConfig = {},
): { sluice: Sluice; events: EventLog } {
  const sluice = new Sluice({ ...testProfile, database: db.workerUrl, operations, ...config })
  const events = new EventLog()
  sluice.onAny((event) => events.push(event))
  return { sluice, events }
}

/** An operation at its end, or as it is after a minute: one that stands still is seen as such. */
export async function ended(sluice: Sluice, id: string): Promise<OperationStatus> {
  return sluice.operations.wait(id, { everyMs: 50, signal: AbortSignal.timeout(patiently(60_000)) })
}
