import { Sluice, type JobDefinition, type ScheduleDefinition, type SluiceConfig } from '../../../src/index.ts'
import type { TestDatabase } from '../../support/database.ts'
import { EventLog } from '../../support/events.ts'
import { jobProfile } from '../../support/jobs.ts'

/** A process that keeps these schedules, to be started, and all that it says. */
export interface Keeper extends AsyncDisposable {
  sluice: Sluice
  events: EventLog
}

export function keeper(
  db: TestDatabase,
  schedules: readonly ScheduleDefinition[],
  config: SluiceConfig & { jobs?: readonly JobDefinition[] } = {},
): Keeper {
  const sluice = new Sluice({ ...jobProfile(), database: db.workerUrl, schedules, ...config })
  const events = new EventLog()
  sluice.onAny((event) => events.push(event))
  return { sluice, events, [Symbol.asyncDispose]: () => sluice.stop() }
}

export async function startedKeeper(...parameters: Parameters<typeof keeper>): Promise<Keeper> {
  const kept = keeper(...parameters)
  await kept.sluice.start()
  return kept
}

/** Once an hour, and half an hour from now: no tick becomes due while a test runs. */
export const everyHour = (): string => `${(new Date().getUTCMinutes() + 30) % 60} * * * *`

/** Lets a schedule look as if it had been considered so long ago. */
export async function goBack(db: TestDatabase, name: string, interval: string): Promise<void> {
  await db.query(`update sluice.schedule set considered_to = clock_timestamp() - $2::interval where name = $1`, [
    name,
    interval,
  ])
}

/** The rows of a schedule's ticks, oldest first. */
export async function tickRows(
  db: TestDatabase,
  name: string,
): Promise<{ tick: Date; outcome: string; reason: string | null; job_id: number | null; missed: number }[]> {
  return db.query(
    `select tick, outcome, reason, job_id::int, missed from sluice.schedule_tick where schedule = $1 order by tick`,
    [name],
  )
}
