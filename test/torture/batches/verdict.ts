import type { TestDatabase } from '../../support/database.ts'
import type { JobFleet } from '../jobs/fleet.ts'
import type { HarmName } from '../jobs/harms.ts'
import type { Begun } from './workload.ts'

/** What a scenario did and what it left behind. */
export interface Outcome extends Findings {
  batches: number
  members: number
  callbacks: { success: number; complete: number; death: number }
  failedMembers: number
  rescued: number
  deadlocks: number
  hits: Partial<Record<HarmName, number>>
  elapsedMs: number
}

/** What is wrong; all of them must be 0. */
interface Findings {
  /** Batches that are not over, or not to be found. */
  unfinished: number
  /** Callbacks that were due and did not run. */
  lost: number
  /** Callbacks that ran more than once, or were not due. */
  undue: number
  /** Callbacks that ran before the last member had ended. */
  early: number
  /** Batches whose counters do not fit what became of their members. */
  miscounted: number
  /** Batches that only the sweep has finished: what each ending does by itself must be enough. */
  mended: number
  /** Rows that should be gone with their batch. */
  leftovers: number
}

const findings = [
  'unfinished',
  'lost',
  'undue',
  'early',
  'miscounted',
  'mended',
  'leftovers',
] as const satisfies (keyof Findings)[]

/** The names of what is wrong; none: all promises were kept. */
export function wrongIn(outcome: Outcome): string[] {
  return findings.filter((finding) => outcome[finding] !== 0)
}

/** Each batch with what became of its members by the tables of jobs, not by its own counters. */
const truth = `
  select h.id::int, h.total, h.succeeded, h.failed, h.outcome,
    (select count(*)::int from sluice.job_dead d where d.batch_id = h.id) as dead,
    (select count(*)::int from sluice.job_dead d where d.batch_id = h.id and d.outcome in ('dead', 'quarantined')) as died,
    (select count(*)::int from sluice.job_history s where s.id = any(h.job_ids)) as done,
    (select count(*)::int from sluice.job_batch_history c where c.parent_id = h.id) as nested,
    (select count(*)::int from sluice.job_batch_history c where c.parent_id = h.id and c.failed > 0) as bad
  from sluice.job_batch_history h`

interface Truth {
  id: number
  total: number
  succeeded: number
  failed: number
  outcome: string
  dead: number
  died: number
  done: number
  nested: number
  bad: number
}

interface Called {
  batch: number
  kind: 'success' | 'complete' | 'death'
  live: number
  nested: number
  effects: number
  all: number
}

const called = `
  select c.batch_id::int as batch, c.kind, c.live, c.nested, c.effects,
    (select count(*)::int from effect e where e.tag = c.tag) as all
  from callback c`

export async function judge(
  db: TestDatabase,
  fleet: JobFleet,
  begun: readonly Begun[],
): Promise<Omit<Outcome, 'hits' | 'elapsedMs'>> {
  const batches = new Map((await db.query<Truth>(truth)).map((one) => [one.id, one]))
  const calls = await db.query<Called>(called)
  const ran = (id: number, kind: Called['kind']): number =>
    calls.filter((call) => call.batch === id && call.kind === kind).length
  const due = ({ id }: Begun): Record<Called['kind'], number> => {
    const { dead = 0, died = 0, bad = 0 } = batches.get(id) ?? {}
    const inner = begun.filter(({ parent }) => parent === id).some((one) => (batches.get(one.id)?.died ?? 0) > 0)
    return { success: dead + bad === 0 ? 1 : 0, complete: 1, death: died > 0 || inner ? 1 : 0 }
  }
  const kinds = ['success', 'complete', 'death'] as const
  const gaps = begun.flatMap((one) => kinds.map((kind) => ran(one.id, kind) - due(one)[kind]))
  const nestedTags = new Set(begun.filter(({ parent }) => parent !== undefined).map(({ parent }) => parent))
  const inner = new Set(begun.filter(({ parent }) => parent !== undefined).map(({ id }) => id))
  const early = calls.filter(({ batch, kind, live, nested, effects, all }) => {
    if (kind === 'death') return false
    // What is inside of another shares the effects of that one.
    return live > 0 || nested > 0 || (!inner.has(batch) && !nestedTags.has(batch) && effects !== all)
  })
  return {
    batches: begun.length,
    members: [...batches.values()].reduce((sum, { total }) => sum + total, 0),
    callbacks: { success: count(calls, 'success'), complete: count(calls, 'complete'), death: count(calls, 'death') },
    failedMembers: [...batches.values()].reduce((sum, { dead }) => sum + dead, 0),
    unfinished: begun.filter(({ id }) => !batches.has(id)).length,
    lost: gaps.filter((gap) => gap < 0).length,
    undue: gaps.filter((gap) => gap > 0).length,
    early: early.length,
    miscounted: [...batches.values()].filter((one) => !fits(one)).length,
    mended: fleet.count('job-batch.mended'),
    leftovers: await db.value(`select ((select count(*) from sluice.job_batch) + (select count(*) from sluice.job)
      + (select count(*) from sluice.job_batch_addition) + (select count(*) from sluice.job_batch_callback))::int`),
    rescued: fleet.count('job.rescued'),
    deadlocks: await db.value(`select deadlocks::int from pg_stat_database where datname = current_database()`),
  }
}

function fits({ total, succeeded, failed, dead, done, nested, bad }: Truth): boolean {
  return succeeded === done + nested - bad && failed === dead + bad && total === succeeded + failed
}

function count(calls: readonly Called[], kind: Called['kind']): number {
  return calls.filter((call) => call.kind === kind).length
}
