import pg from 'pg'
import { Sluice, type JobDefinition, type SluiceConfig } from '../../src/index.ts'
import type { TestDatabase } from './database.ts'
import { EventLog } from './events.ts'
import { patiently } from './patience.ts'
import { until } from './wait.ts'
import { testProfile } from './worker.ts'

/** A worker on jobs in this process, to be started, and all that it says. */
export interface JobWorker extends AsyncDisposable {
  sluice: Sluice
  jobs: Sluice['jobs']
  events: EventLog
}

type JobSettings = NonNullable<NonNullable<SluiceConfig['worker']>['jobs']>

/** For tests in which workers die: others take over soon. Elsewhere a busy machine must not look like a crash. */
export const shortLease = { lease: patiently(1_500) } as const

/** The test profile for jobs: short waits, and as many at once as the test asks for. */
export function jobProfile(
  settings: JobSettings = {},
  rest: SluiceConfig['worker'] = {},
): Required<Pick<SluiceConfig, 'worker' | 'timeouts'>> {
  return {
    ...testProfile,
    worker: {
      ...testProfile.worker,
      lease: patiently(10_000),
      ...rest,
      jobs: { concurrency: 5, poll: '300ms', ...settings },
    },
  }
}

/** A worker that knows these jobs. */
export function jobWorker(
  db: TestDatabase,
  jobs: readonly JobDefinition[],
  { url = db.workerUrl, ...settings }: JobSettings & { url?: string } = {},
  config: SluiceConfig = {},
): JobWorker {
  const sluice = new Sluice({ ...jobProfile(settings, config.worker), ...omitWorker(config), database: url, jobs })
  const events = new EventLog()
  sluice.onAny((event) => events.push(event))
  return { sluice, jobs: sluice.jobs, events, [Symbol.asyncDispose]: () => sluice.stop() }
}

function omitWorker({ worker: _worker, ...config }: SluiceConfig): SluiceConfig {
  return config
}

/** The same, at work. */
export async function startedWorker(...parameters: Parameters<typeof jobWorker>): Promise<JobWorker> {
  const worker = jobWorker(...parameters)
  await worker.sluice.start()
  return worker
}

/** Waits until no job is left in the live table. */
export async function drained(db: TestDatabase, limitMs = 60_000): Promise<void> {
  await until('all jobs have ended', async () => (await liveJobs(db)) === 0, limitMs)
}

export async function liveJobs(db: TestDatabase): Promise<number> {
  return db.value('select count(*)::int from sluice.job')
}

/** Whether the job `j` is claimed: a new one is on the list of a claim, any other is marked. */
export const isClaimed = `(j.claim_id is not null
  or (j.state = 0 and exists (select from sluice.job_claim c where c.job_ids @> j.id)))`

/** What a worker must not leave behind. */
export const leftovers = (db: TestDatabase): Promise<object[]> =>
  db.query(`select (select count(*)::int from sluice.job j where ${isClaimed}) as claimed,
    (select count(*)::int from sluice.job_claim) as claims, (select count(*)::int from sluice.worker) as workers`)
export const clean = [{ claimed: 0, claims: 0, workers: 0 }]

/** How many jobs workers have claimed. */
export async function claimedJobs(db: TestDatabase): Promise<number> {
  return db.value(`select count(*)::int from sluice.job j where ${isClaimed}`)
}

/** Makes it look as if a worker that died long ago had claimed all jobs. */
export async function claimForTheDead(db: TestDatabase): Promise<void> {
  await db.query(`insert into sluice.job_claim (id, worker_id, job_ids, claimed_at)
    select 7, gen_random_uuid(), range_agg(int8range(id, id, '[]')), now() - interval '1 hour' from sluice.job`)
}

/** Lets a worker that is dead look silent for longer than its lease, so that nobody has to wait for that. */
export async function silence(db: TestDatabase, pid: number): Promise<void> {
  await db.query(
    `with dead as (
       update sluice.worker set seen_at = seen_at - interval '1 hour' where pid = $1 returning id
     )
     update sluice.job_claim c set claimed_at = claimed_at - interval '1 hour' from dead where c.worker_id = dead.id`,
    [pid],
  )
}

/** A table in which handlers write down what they did, for tests to count. */
export async function withLedger(db: TestDatabase): Promise<TestDatabase> {
  await db.query('create table ledger (id bigserial, note text not null, at timestamptz default clock_timestamp())')
  await db.query('grant usage on sequence ledger_id_seq to test_worker')
  return db
}

/** A connection of one's own. */
export async function openClient(url: string): Promise<pg.Client & AsyncDisposable> {
  const client = new pg.Client({ connectionString: url })
  // A test that fails drops its database under it.
  client.on('error', () => undefined)
  await client.connect()
  return Object.assign(client, { [Symbol.asyncDispose]: () => client.end() })
}
