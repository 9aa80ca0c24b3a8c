import type { NewJob } from '../../jobs/queue.ts'
import type { StoreConnection } from '../connection.ts'
import { list, statement } from '../statement.ts'

/** `id` is a number or its text, as the caller's driver reads a bigint. */
export interface RecordedRow {
  at: number
  id: number | string
  duplicate: boolean
}

interface EnqueueOrder {
  jobs: readonly NewJob[]
  notify: boolean
}

/** Records jobs: in the order given, each with its id, or with that of the job that holds its unique key. */
export const enqueue = statement<EnqueueOrder, RecordedRow>(
  'job.enqueue',
  `select at, id, duplicate from sluice.enqueue($1, $2, true)`,
  ({ jobs, notify }) => [`[${jobs.map(jobText).join(',')}]`, notify],
)

/** The same where the statement is the whole transaction: nobody has to wait for its end, and it has a lock limit, which comes first. */
export const enqueueAlone = statement<EnqueueOrder & { lockMs: number }, RecordedRow>(
  'job.enqueueAlone',
  `select e.at, e.id, e.duplicate
   from (select set_config('lock_timeout', $3, true) as lock_limit offset 0) l
   cross join lateral sluice.enqueue($1, $2 and l.lock_limit is not null, true, true) e`,
  ({ jobs, notify, lockMs }) => [`[${jobs.map(jobText).join(',')}]`, notify, `${lockMs}`],
)

function jobText({ args, ...rest }: NewJob): string {
  return `${JSON.stringify(rest).slice(0, -1)},"args":${args}}`
}

/** Makes classes and queues that are not there, and gives the ids of all. Nobody may keep these: see `enqueuePlain`. */
export const enqueueNames = statement<
  { classes: readonly string[]; queues: readonly string[] },
  { kind: 'class' | 'queue'; name: string; id: number }
>('job.enqueueNames', `select kind, name, id from sluice.enqueue_names($1, $2)`, (p) => [p.classes, p.queues])

/** How strictly the transaction of a connection is kept apart from others. */
export const isolation = statement<void, { isolation: string }>(
  'job.isolation',
  `select current_setting('transaction_isolation') as isolation`,
  () => [],
)

/** A job that is ready at once and has no keys. */
export interface PlainJob {
  job: string
  queue: string
  priority: number
  args: string
}

/** Records such jobs the short way; gives their ids in the order given. */
export async function enqueuePlain(
  connection: StoreConnection,
  order: { jobs: readonly PlainJob[]; notify: boolean },
): Promise<number[]> {
  const [recorded] = await recordPlain(connection, order)
  return (recorded?.ids ?? '').split(',').map(Number)
}

const recordPlain = statement<{ jobs: readonly PlainJob[]; notify: boolean }, { ids: string }>(
  'job.enqueuePlain',
  `select ids from sluice.enqueue_plain($1, $2, $3, $4, $5, $6, $7)`,
  ({ jobs, notify }) => {
    const [classes, queues] = [new Places(), new Places()]
    const [classPlaces, queuePlaces] = [
      list(jobs.map(({ job }) => classes.of(job))),
      list(jobs.map(({ queue }) => queues.of(queue))),
    ]
    const priorities = list(jobs.map(({ priority }) => priority))
    const args = `[${jobs.map((job) => job.args).join(',')}]`
    return [classes.names, queues.names, classPlaces, queuePlaces, priorities, args, notify]
  },
  { prepare: true },
)

/** Names, each once, and the place of each among them, counted from 1. */
class Places {
  readonly #places = new Map<string, number>()

  get names(): string[] {
    return [...this.#places.keys()]
  }

  of(name: string): number {
    const known = this.#places.get(name)
    if (known !== undefined) return known
    this.#places.set(name, this.#places.size + 1)
    return this.#places.size
  }
}

/** How many keys go into one statement. It holds the locks of all of them, and others wait for some of these. */
const keysAtOnce = 500

/** Readies parked jobs of these keys, as far as the limits allow; gives how many. */
export async function admit(connection: StoreConnection, { keys }: { keys: readonly string[] }): Promise<number> {
  let admitted = 0
  for (let at = 0; at < keys.length; at += keysAtOnce) {
    const [some] = await admitKeys(connection, { keys: keys.slice(at, at + keysAtOnce) })
    admitted += some?.admitted ?? 0
  }
  return admitted
}

const admitKeys = statement<{ keys: readonly string[] }, { admitted: number }>(
  'job.admit',
  `select sluice.admit_jobs(array(select hashtextextended(k, 0) from unnest($1::text[]) k)) as admitted`,
  ({ keys }) => [keys],
)

/** Sends a notification to the workers that listen: see jobs/hints.ts for what it says. */
export const notify = statement<{ hint: string }, object>(
  'job.notify',
  `select pg_notify('sluice_jobs', $1)`,
  ({ hint }) => [hint],
)

/** Which of these jobs are not there any more. */
export const goneJobs = statement<{ ids: readonly number[] }, { id: number }>(
  'job.gone',
  `select g.id
   from unnest($1::bigint[]) g(id)
   where not exists (select from sluice.job j where j.id = g.id)`,
  ({ ids }) => [list(ids)],
)

/**
 * Frees unique keys whose job is gone without them, which only happens to a queue that somebody has emptied: a job and
 * its key come and go in one statement.
 */
export const freeOrphanKeys = statement<{ ids: readonly number[] }, { id: number }>(
  'job.freeOrphanKeys',
  `delete from sluice.job_lock l
   where l.job_id = any($1::bigint[])
     and not exists (select from sluice.job j where j.id = l.job_id)
   returning l.job_id as id`,
  ({ ids }) => [list(ids)],
)
