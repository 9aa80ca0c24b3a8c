import { SluiceError } from '../../errors.ts'
import type { EnqueuedJob, JobDefinition } from '../../jobs/definition.ts'
import type { Jobs } from '../../jobs/jobs.ts'
import type { JobQueue } from '../../jobs/queue.ts'
import { errorRecord, type ErrorRecord } from '../../std/error-record.ts'
import type { Database } from '../../store/database.ts'
import { finish, hold } from '../../store/reconcilers.ts'
import { readFound, type Found, type FoundPage } from '../../targets/postgres/find.ts'
import type { Telemetry } from '../../telemetry/telemetry.ts'
import type { ReconcilerDefinition, Routed } from './define.ts'

/** So many records are read and enqueued at a time. */
const pageSize = 1_000

export interface RunDeps {
  database: Database
  jobs: Jobs
  queue: JobQueue
  telemetry: Telemetry
}

/** What a run has come to. */
export interface Reconciled {
  /** Records that the query gave. */
  found: number
  /** New jobs. */
  enqueued: number
  /** Records whose job is there already. */
  duplicates: number
  /** Records for which no job could be made, and rows that their machine cannot move. */
  refused: number
  /** Why not, of the first of them. */
  error: ErrorRecord | null
  /** Another run has taken over meanwhile. */
  lost: boolean
}

/** Runs one interval of a reconciler under its claim, and writes down what came of it. */
export async function runReconciler(
  deps: RunDeps,
  definition: ReconcilerDefinition,
  { nonce, signal }: { nonce: string; signal?: AbortSignal },
): Promise<Reconciled> {
  const { name, everyMs } = definition
  const claim = { name, everyMs, nonce }
  const began = performance.now()
  const sum: Reconciled = { found: 0, enqueued: 0, duplicates: 0, refused: 0, error: null, lost: false }
  const control = deps.database.control
  try {
    for await (const page of pagesOf(deps.database, definition)) {
      sum.found += page.length
      // Before it enqueues: one that slept through its interval has nothing to add.
      sum.lost = (await hold(control, { ...claim, ...sum })).length === 0
      if (sum.lost || signal?.aborted === true) break
      await enqueuePage(deps, { definition, page, sum })
      if (sum.enqueued >= definition.limit) break
    }
  } catch (error) {
    const record = errorRecord(error)
    await finish(control, { ...claim, ...sum, error: record }).catch(() => undefined)
    deps.telemetry.emit('reconciler.failed', { name, error: record })
    throw error
  }
  if (sum.lost) return sum
  sum.lost = (await finish(control, { ...claim, ...sum })).length === 0
  const { found, enqueued, duplicates, refused } = sum
  const elapsedMs = Math.round(performance.now() - began)
  deps.telemetry.emit('reconciler.finished', { name, found, enqueued, duplicates, refused, elapsedMs })
  return sum
}

async function* pagesOf({ work }: Database, { find }: ReconcilerDefinition): AsyncGenerator<Found[]> {
  for (let which: FoundPage = 'first'; ;) {
    const page: Found[] = await readFound(work, find, { which, limit: pageSize })
    if (page.length > 0) yield page
    const key = page.at(-1)?.key ?? null
    // The first page ends with the records that have no key, and so does one that is not full.
    if (which === 'keyless' || (page.length > 0 && key === null)) return
    if (page.length < pageSize && which === 'first') return
    which = page.length < pageSize || key === null ? 'keyless' : { after: key }
  }
}

interface Page {
  definition: ReconcilerDefinition
  page: readonly Found[]
  sum: Reconciled
}

/** Enqueues for the records of a page, as far as the limit allows: what waits already does not count. */
async function enqueuePage(deps: RunDeps, { definition, page, sum }: Page): Promise<void> {
  const all = page.flatMap(({ row }) => (attempt(() => definition.route(row), sum) as Routed | undefined) ?? [])
  const routed = new Map<JobDefinition, unknown[]>()
  for (const one of await startable(deps.queue, all, sum)) {
    routed.set(one.job, [...(routed.get(one.job) ?? []), one.args])
  }
  for (const [job, args] of routed) {
    for (let at = 0; at < args.length && sum.enqueued < definition.limit;) {
      const some = args.slice(at, at + Math.min(pageSize, definition.limit - sum.enqueued))
      await enqueueSome(deps, { job, args: some, spread: definition.jitterMs, sum })
      at += some.length
    }
  }
}

/** Refuses rows of machines whose effect is done but which could not be moved; gives all other records. */
async function startable(queue: JobQueue, all: readonly Routed[], sum: Reconciled): Promise<readonly Routed[]> {
  const steps = all.flatMap(({ job, args, inStateSince: since }, at) =>
    since === undefined ? [] : [{ at, name: job.name, args, since }],
  )
  if (steps.length === 0) return all
  const unmoved = new Map((await queue.read('unmoved', { steps })).map(({ at, error }) => [at, error]))
  for (const error of unmoved.values()) refuse(error, sum)
  return all.filter((_, at) => !unmoved.has(at))
}

interface Some {
  job: JobDefinition
  args: readonly unknown[]
  spread: number
  sum: Reconciled
}

async function enqueueSome(deps: RunDeps, some: Some): Promise<void> {
  const { sum } = some
  const first = await enqueueGood(deps.jobs, some)
  const orphans = await freeOrphans(deps.queue, first)
  // Their jobs went with the queue, their unique keys did not.
  const again = first.filter(({ result }) => result.duplicate && orphans.has(result.id))
  const second = await enqueueGood(deps.jobs, { ...some, args: again.map(({ args }) => args) })
  const results = [...first.filter((one) => !again.includes(one)), ...second]
  const duplicates = results.filter(({ result }) => result.duplicate).length
  sum.duplicates += duplicates
  sum.enqueued += results.length - duplicates
}

interface Enqueued {
  args: unknown
  result: EnqueuedJob
}

/** All in one statement; one after the other when one of them is refused, so that it does not stand in the way. */
async function enqueueGood(jobs: Jobs, { job, args, spread, sum }: Some): Promise<Enqueued[]> {
  if (args.length === 0) return []
  try {
    const results = await jobs.enqueueMany(job, args as never[], { spread })
    return results.map((result, at) => ({ args: args[at], result }))
  } catch (error) {
    if (!isRefusal(error)) throw error
  }
  const good: Enqueued[] = []
  for (const one of args) {
    try {
      good.push({ args: one, result: await jobs.enqueue(job, one as never, { spread }) })
    } catch (error) {
      if (!isRefusal(error)) throw error
      refuse(errorRecord(error), sum)
    }
  }
  return good
}

/** Frees unique keys whose job is not there any more; gives the ids of those jobs. */
async function freeOrphans(queue: JobQueue, enqueued: readonly Enqueued[]): Promise<ReadonlySet<number>> {
  const ids = enqueued.filter(({ result }) => result.duplicate).map(({ result }) => result.id)
  return ids.length === 0 ? new Set() : queue.act('freeOrphans', { ids })
}

function isRefusal(error: unknown): boolean {
  return error instanceof SluiceError && (error.code === 'ARGS_INVALID' || error.code === 'ENQUEUE_INVALID')
}

function attempt(make: () => unknown, sum: Reconciled): unknown {
  try {
    return make()
  } catch (error) {
    refuse(errorRecord(error), sum)
    return undefined
  }
}

function refuse(error: ErrorRecord, sum: Reconciled): void {
  sum.refused += 1
  sum.error ??= error
}
