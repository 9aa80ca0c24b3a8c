import type { TestDatabase } from '../../support/database.ts'
import type { Fed, Feeder } from './feeder.ts'
import { leaseMs, sweepMs } from './fleet.ts'
import type { HarmName, Scene } from './harms.ts'
import { mix } from './mix.ts'
import type { Sightings } from './watch.ts'

/** What a scenario did and what it left behind. */
export interface Outcome extends Findings {
  jobs: number
  duplicates: number
  unsure: number
  samples: number
  quarantined: number
  /** Completions of workers that did not own the job any more, refused. */
  refused: number
  rescued: number
  /** From a kill to the next start of a job that the killed worker held. */
  recovery: { jobs: number; p50Ms: number; p99Ms: number; maxMs: number; leaseAndSweepMs: number }
  hits: Partial<Record<HarmName, number>>
  elapsedMs: number
}

/** What is wrong; all of them must be 0. */
interface Findings extends Omit<Sightings, 'samples'> {
  /** Acknowledged jobs that did not end. */
  lost: number
  /** Jobs that succeeded and left no effect. */
  missing: number
  /** Transactional effects that happened more than once, or of jobs that did not succeed. */
  doubled: number
  /** Moments at which more transactions of a key were at work than its limit allows. */
  overlaps: number
  /** Jobs that were ended by an attempt which had been written off before. */
  undead: number
  /** Attempts that were written off with a worker that did not run them. */
  mistaken: number
  /** Jobs that a healthy worker lost to somebody else. */
  robbed: number
  /** Jobs that ended as dead: none of these gives reason to. */
  dead: number
  liveLeft: number
  claimsLeft: number
  locksLeft: number
}

const findings = [
  'lost',
  'missing',
  'doubled',
  'overLimit',
  'overlaps',
  'twins',
  'orphans',
  'shared',
  'undead',
  'mistaken',
  'robbed',
  'dead',
  'liveLeft',
  'claimsLeft',
  'locksLeft',
] as const satisfies (keyof Findings)[]

/** The names of what is wrong; none: all promises were kept. */
export function wrongIn(outcome: Outcome): string[] {
  return findings.filter((finding) => outcome[finding] !== 0)
}

interface Remains {
  db: TestDatabase
  feeder: Feeder
  scene: Scene
  sightings: Sightings
  harm: readonly HarmName[]
}

export async function judge(remains: Remains): Promise<Omit<Outcome, 'hits' | 'elapsedMs'>> {
  const { db, feeder, scene, sightings, harm } = remains
  const count = (sql: string): Promise<number> => db.value(`select count(*)::int from ${sql}`)
  const { acknowledged, duplicates, unsure } = feeder
  return {
    jobs: acknowledged.length,
    duplicates,
    unsure,
    ...(await effects(db, acknowledged)),
    ...sightings,
    overlaps: await db.value<number>(overlaps),
    ...attempts(scene, await db.query<Setback>(setbacks)),
    robbed: harm.every((name) => name === 'kill' || name === 'stop') ? robbed(scene) : 0,
    dead: await count(`sluice.job_dead where outcome <> 'quarantined' or crashes < 3`),
    quarantined: await count(`sluice.job_dead where outcome = 'quarantined'`),
    liveLeft: await count('sluice.job'),
    claimsLeft: await count('sluice.job_claim'),
    locksLeft: await count('sluice.job_lock'),
    refused: scene.fleet.count('job.lost'),
    rescued: scene.fleet.count('job.rescued'),
    recovery: recovery(scene),
  }
}

async function effects(db: TestDatabase, fed: Fed[]): Promise<Pick<Findings, 'lost' | 'missing' | 'doubled'>> {
  const idsIn = async (sql: string): Promise<Set<number>> =>
    new Set((await db.query<{ id: string }>(sql)).map(({ id }) => Number(id)))
  const [succeeded, buried, ran, spanned] = [
    await idsIn('select id from sluice.job_history'),
    await idsIn('select id from sluice.job_dead'),
    await idsIn('select job_id as id from run'),
    await idsIn('select job_id as id from span'),
  ]
  const counters = await db.query<{ n: string; times: number }>('select n, times from counter')
  const times = new Map(counters.map((row) => [Number(row.n), row.times]))
  const left = ({ id, kind, n }: Fed): boolean => {
    const { effect } = mix[kind]
    return effect === 'run' ? ran.has(id) : effect === 'span' ? spanned.has(id) : (times.get(n) ?? 0) > 0
  }
  const twice = await db.value<number>(
    `select ((select count(*) from counter where times > 1)
       + (select count(*) from (select from span group by job_id having count(*) > 1) s))::int`,
  )
  const undue = fed.filter((one) => buried.has(one.id) && mix[one.kind].effect !== 'run' && left(one)).length
  return {
    lost: fed.filter(({ id }) => !succeeded.has(id) && !buried.has(id)).length,
    missing: fed.filter((one) => succeeded.has(one.id) && !left(one)).length,
    doubled: twice + undue,
  }
}

/** A key begins with its limit. Where one span ends as another begins, the end counts first. */
const overlaps = `
  with edge as (
    select key, began as at, 1 as step from span
    union all
    select key, ended, -1 from span
  ), level as (
    select key, sum(step) over (partition by key order by at, step) as open from edge
  )
  select count(*)::int from level where open > split_part(key, ':', 1)::int`

interface Setback {
  jobId: number
  attempt: number
  workerId: string
  verdict: string
}

const setbacks = `
  select job_id::int as "jobId", attempt, worker_id as "workerId", verdict from sluice.job_attempt`

const key = ({ jobId, attempt }: { jobId?: number; attempt?: number }): string => `${jobId}:${attempt}`

/**
 * An attempt is written off with the worker that runs it, and cannot end its job after that. One that counts as none
 * (its connection broke, its worker stopped) leaves its number to the next one, which may be another worker's.
 */
function attempts({ fleet }: Scene, records: Setback[]): { undead: number; mistaken: number } {
  const pids = new Map(fleet.said('worker.started').map(({ workerId, pid }) => [workerId, pid]))
  const written = new Set(records.map((record) => `${key(record)} ${pids.get(record.workerId)}`))
  const writtenOff = new Set(records.filter(({ verdict }) => verdict === 'crash').map(key))
  const released = new Set(fleet.said('job.released').map(({ jobId, pid }) => `${jobId} ${pid}`))
  const undead = fleet.said('job.finished').filter((said) => writtenOff.has(key(said))).length
  const mistaken = fleet
    .said('job.started')
    .filter((said) => writtenOff.has(key(said)))
    .filter((said) => !written.has(`${key(said)} ${said.pid}`) && !released.has(`${said.jobId} ${said.pid}`)).length
  return { undead, mistaken }
}

/**
 * A worker that was neither stopped nor unsure of its lease keeps what it has claimed. Where connections break or the
 * server is away, workers may well lose jobs, and then this says nothing.
 */
function robbed({ fleet, stopped }: Scene): number {
  const unsure = new Set(fleet.said('worker.untrusted', 'connection.lost').map(({ pid }) => pid))
  return fleet.said('job.lost').filter(({ pid }) => !stopped.has(pid) && !unsure.has(pid)).length
}

function recovery({ fleet, bereft }: Scene): Outcome['recovery'] {
  const starts = fleet.said('job.started')
  const waits = bereft
    .flatMap(({ jobId, killedAtMs }) => {
      const next = starts.filter((start) => start.jobId === jobId && start.atMs > killedAtMs).map(({ atMs }) => atMs)
      return next.length === 0 ? [] : [Math.min(...next) - killedAtMs]
    })
    .toSorted((a, b) => a - b)
  const at = (share: number): number => waits[Math.min(waits.length - 1, Math.floor(waits.length * share))] ?? 0
  return { jobs: waits.length, p50Ms: at(0.5), p99Ms: at(0.99), maxMs: at(1), leaseAndSweepMs: leaseMs + sweepMs }
}
