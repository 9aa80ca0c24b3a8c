import { setTimeout as sleep } from 'node:timers/promises'
import { Sluice } from '../../../src/index.ts'
import type { TestDatabase } from '../../support/database.ts'
import { startFaultProxy } from '../../support/fault-proxy/index.ts'
import { databaseOf } from '../jobs/database.ts'
import { JobFleet } from '../jobs/fleet.ts'
import { harms, type HarmName, type Scene } from '../jobs/harms.ts'
import { judge, type Outcome } from './verdict.ts'
import { begin, jobsText, tables } from './workload.ts'

export interface Plan {
  clusterUrl: string
  batches: number
  /** Members of each, before they add others. */
  size: number
  /** The harm to do, evenly over the jobs, in this order. */
  harm: readonly HarmName[]
  secondsPerHarm?: number
  processes?: number
  concurrency?: number
  package?: URL
}

/** Lets a fleet work on batches of jobs while harm is done to it, and judges what is left. */
export async function tortureBatches(plan: Plan): Promise<Outcome> {
  const began = Date.now()
  await using db = await databaseOf(plan)
  await db.query(tables)
  const upstream = new URL(plan.clusterUrl)
  await using proxy = await startFaultProxy({ host: upstream.hostname, port: Number(upstream.port) })
  const { processes: size = 3, concurrency = 8, secondsPerHarm = 1.2, harm } = plan
  const jobs = plan.batches * plan.size
  // Long enough that the last harm finds jobs running.
  const pauseMs = Math.min(400, Math.round((harm.length * secondsPerHarm * 1_000 * size * concurrency) / jobs))
  const home = plan.package === undefined ? {} : { package: plan.package }
  const workerUrl = proxy.url(db.workerUrl)
  const work = { pauseMs, jobs: jobsText(pauseMs) }
  await using fleet = new JobFleet({ db, workerUrl, size, concurrency, ...work, ...home })
  await fleet.start()
  const scene: Scene = {
    fleet,
    proxy,
    restart: () => Promise.reject(new Error('this server is not ours to restart')),
    asleep: new Set(),
    stopped: new Set(),
    wakes: [],
    bereft: [],
    restarts: 0,
  }
  await using sluice = new Sluice({ database: db.workerUrl })
  const beginning = begin(sluice, plan.batches, plan.size)
  const hits: Outcome['hits'] = {}
  for (const [i, name] of harm.entries()) {
    await reached(db, Math.floor((jobs * (i + 0.5)) / (harm.length + 1)), fleet)
    if (await harms[name](scene)) hits[name] = (hits[name] ?? 0) + 1
  }
  const begun = await beginning
  await Promise.all(scene.wakes)
  await drained(db)
  return { ...(await judge(db, fleet, begun)), hits, elapsedMs: Date.now() - began }
}

async function reached(db: TestDatabase, mark: number, fleet: JobFleet, limitMs = 120_000): Promise<void> {
  const ended = (): Promise<number> =>
    db.value('select ((select count(*) from sluice.job_history) + (select count(*) from sluice.job_dead))::int')
  const end = Date.now() + limitMs
  while ((await ended()) < mark) {
    if (Date.now() > end) throw new Error(`stuck at ${await ended()} of ${mark} jobs\n${fleet.lastWords()}`)
    await sleep(30)
  }
}

/** Waits until nothing is live, or nothing moves any more. */
async function drained(db: TestDatabase, patienceMs = 20_000): Promise<void> {
  let left = Infinity
  for (let movedAt = Date.now(); left > 0 && Date.now() - movedAt < patienceMs; await sleep(100)) {
    const now = await db.value<number>(
      `select ((select count(*) from sluice.job) + (select count(*) from sluice.job_batch)
         + (select count(*) from sluice.job_claim))::int`,
    )
    if (now < left) movedAt = Date.now()
    left = now
  }
}
