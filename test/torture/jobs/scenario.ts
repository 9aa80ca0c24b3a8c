import { setTimeout as sleep } from 'node:timers/promises'
import type { TestDatabase } from '../../support/database.ts'
import { startFaultProxy } from '../../support/fault-proxy/index.ts'
import { databaseOf } from './database.ts'
import { Feeder } from './feeder.ts'
import { JobFleet } from './fleet.ts'
import { harms, type HarmName, type Scene } from './harms.ts'
import { tables } from './mix.ts'
import { judge, type Outcome } from './verdict.ts'
import { watchInvariants } from './watch.ts'

export interface Plan {
  clusterUrl: string
  jobs: number
  /** The harm to do, evenly over the jobs, in this order. */
  harm: readonly HarmName[]
  /** About how long there is for each of them. */
  secondsPerHarm?: number
  /** Worker processes at a time, and jobs at once in each. */
  processes?: number
  concurrency?: number
  restart?: (nth: number) => Promise<unknown>
  package?: URL
}

/** Lets a fleet work on the mix of jobs while harm is done to it, and judges what is left. */
export async function tortureJobs(plan: Plan): Promise<Outcome> {
  const began = Date.now()
  await using db = await databaseOf(plan)
  await db.query(tables)
  const upstream = new URL(plan.clusterUrl)
  await using proxy = await startFaultProxy({ host: upstream.hostname, port: Number(upstream.port) })
  const { processes: size = 3, concurrency = 6, secondsPerHarm = 1.2 } = plan
  // Long enough that the last harm finds jobs running.
  const pauseMs = Math.min(
    400,
    Math.round((plan.harm.length * secondsPerHarm * 1_000 * size * concurrency) / plan.jobs),
  )
  const home = plan.package === undefined ? {} : { package: plan.package }
  const workerUrl = proxy.url(db.workerUrl)
  await using fleet = new JobFleet({ db, workerUrl, size, concurrency, pauseMs, ...home })
  await using feeder = new Feeder(workerUrl)
  await fleet.start()
  const watch = watchInvariants(db)
  const scene: Scene = {
    fleet,
    proxy,
    restart: plan.restart ?? (() => Promise.reject(new Error('this server is not ours to restart'))),
    asleep: new Set(),
    stopped: new Set(),
    wakes: [],
    bereft: [],
    restarts: 0,
  }
  const feeding = feeder.feed(plan.jobs, () => endedIn(db))
  const hits = await doHarm(plan, scene, () => endedIn(db).catch(() => 0))
  await feeding
  await Promise.all(scene.wakes)
  await drained(db)
  const sightings = await watch.stop()
  return { ...(await judge({ db, feeder, scene, sightings, harm: plan.harm })), hits, elapsedMs: Date.now() - began }
}

async function doHarm(
  { jobs, harm }: Plan,
  scene: Scene,
  ended: () => Promise<number>,
): Promise<Partial<Record<HarmName, number>>> {
  const hits: Partial<Record<HarmName, number>> = {}
  for (const [i, name] of harm.entries()) {
    await reached(Math.floor((jobs * (i + 0.5)) / (harm.length + 1)), ended, scene)
    if (await harms[name](scene)) hits[name] = (hits[name] ?? 0) + 1
  }
  return hits
}

async function reached(mark: number, ended: () => Promise<number>, { fleet }: Scene, limitMs = 60_000): Promise<void> {
  const end = Date.now() + limitMs
  while ((await ended()) < mark) {
    if (Date.now() > end) throw new Error(`stuck at ${await ended()} of ${mark} jobs\n${fleet.lastWords()}`)
    await sleep(30)
  }
}

/** Waits until nothing is left in the live table and nothing is claimed, or nothing moves any more. */
async function drained(db: TestDatabase, patienceMs = 20_000): Promise<void> {
  let left = Infinity
  for (let movedAt = Date.now(); left > 0 && Date.now() - movedAt < patienceMs; await sleep(100)) {
    const now = await db
      .value<number>('select ((select count(*) from sluice.job) + (select count(*) from sluice.job_claim))::int')
      .catch(() => left)
    if (now < left) movedAt = Date.now()
    left = now
  }
}

function endedIn(db: TestDatabase): Promise<number> {
  return db.value(
    'select ((select count(*) from sluice.job_history) + (select count(*) from sluice.job_dead))::int as ended',
  )
}
