import { setTimeout as sleep } from 'node:timers/promises'
import { testDatabase, type TestDatabase } from '../support/database.ts'
import { startFaultProxy, type FaultProxy, type LinkInfo } from '../support/fault-proxy/index.ts'
import { Fleet } from './fleet.ts'

/** What a scenario did and what it left behind. */
export interface Outcome {
  rows: number
  /** Faults that really hit. */
  faults: number
  /** Rows whose counter is not 1: lost or doubled. */
  wrong: number
  /** Rows changed by the engine's own account. */
  counted: number
  status: string
  fenceRefusals: number
  rescued: number
  doubted: number
  elapsedMs: number
}

export interface Plan {
  clusterUrl: string
  rows: number
  faults: number
  /** Worker processes at a time, and batches at once; 3 of each by default. */
  processes?: number
  lanes?: number
  /** How long each sub-batch pauses inside of its transaction; 12 ms by default. */
  pauseMs?: number
  /** About how long one worker alone has to do for each fault: the operation must outlast them all. */
  secondsPerFault?: number
  /** After so long a worker is taken for dead; 1 s by default. */
  lease?: string
  /** How long the server lets a transaction idle before it ends the session; 3 s by default. */
  idleInTransaction?: string
  package?: URL
}

/** SIGKILLs workers that hold a batch, spread over the whole operation; each is replaced. */
export async function killWorkers(plan: Plan): Promise<Outcome> {
  return torture(plan, async ({ fleet, marks }) => {
    let hits = 0
    for (const mark of marks) {
      await fleet.reached(mark)
      await sleep(Math.random() * 15)
      const victim = (await fleet.holder()) ?? fleet.alive[0]
      if (victim === undefined) continue
      victim.kill('SIGKILL')
      await victim.exited
      hits += 1
      await fleet.spawn()
    }
    return hits
  })
}

/**
 * SIGSTOPs workers for longer than their lease. Two of five wake while their session is still alive, in the middle of
 * a transaction; the others wake when the server has ended it and somebody else has the batch.
 */
export async function stopWorkers(plan: Plan): Promise<Outcome> {
  return torture({ secondsPerFault: 7, ...plan }, async ({ fleet, marks }) => {
    const stopped = new Set<number>()
    let hits = 0
    const wakes: Promise<void>[] = []
    for (const [i, mark] of marks.entries()) {
      await fleet.reached(mark)
      const victim = await untilHolder(fleet, stopped)
      await victim.events
        .event('sub-batch.committed', { nth: victim.events.count('sub-batch.committed') + 1 })
        .catch(() => undefined)
      await sleep(4)
      victim.kill('SIGSTOP')
      stopped.add(victim.pid)
      hits += 1
      const pauseMs = i % 5 === 1 || i % 5 === 3 ? 2_300 : 4_600
      const wake = sleep(pauseMs).then(() => {
        victim.kill('SIGCONT')
        return sleep(500).then(() => void stopped.delete(victim.pid))
      })
      wakes.push(wake)
      // One stays awake to take over.
      if (stopped.size >= 2) await wake
    }
    await Promise.all(wakes)
    return hits
  })
}

/**
 * Stops workers in the middle of a transaction, and wakes each when another one has gone on with its batch. That its
 * lease is over it hears late, so that nothing but the nonce can keep it from committing.
 */
export async function overtakeWorkers(plan: Plan): Promise<Outcome> {
  await using proxy = await proxyTo(plan.clusterUrl)
  return await torture(
    plan,
    async ({ fleet, marks }) => {
      let hits = 0
      for (const mark of marks) {
        await fleet.reached(mark)
        const victim = await untilHolder(fleet, new Set())
        const batchId = await fleet.stopInside(victim)
        hits += 1
        await fleet.overtaken(batchId, victim)
        const late = proxy.delay(500, 0, { direction: 'down', which: ofRenewal })
        victim.kill('SIGCONT')
        await sleep(1_000)
        late.lift()
      }
      return hits
    },
    (url) => proxy.url(url),
  )
}

/** Drops answers to COMMIT after the server has committed, and cuts the connection. */
export async function loseCommits(plan: Plan): Promise<Outcome> {
  await using proxy = await proxyTo(plan.clusterUrl)
  return await torture(
    plan,
    async ({ fleet, marks }) => {
      let hits = 0
      for (const mark of marks) {
        await fleet.reached(mark)
        const rule = proxy.dropAnswerTo(/^commit/i, { times: 1, ending: 'rst', which: ofSubBatches })
        for (let waited = 0; rule.hits === 0 && waited < 5_000; waited += 10) await sleep(10)
        hits += rule.hits
      }
      return hits
    },
    (url) => proxy.url(url),
  )
}

async function proxyTo(clusterUrl: string): Promise<FaultProxy> {
  const { hostname: host, port } = new URL(clusterUrl)
  return startFaultProxy({ host, port: Number(port) })
}

const ofRenewal = ({ applicationName }: LinkInfo): boolean => applicationName === 'sluice renewal'

/** Where sub-batches commit. The end of a batch is looked for there, too, now and then. */
const ofSubBatches = ({ applicationName }: LinkInfo): boolean => applicationName === 'sluice work'

/** Restarts the server under the workers: `restart` takes it down in one of several ways and brings it back. */
export async function restartServer(plan: Plan, restart: (nth: number) => Promise<void>): Promise<Outcome> {
  return torture(plan, async ({ fleet, marks }) => {
    let hits = 0
    for (const mark of marks) {
      await fleet.reached(mark)
      await restart(hits)
      hits += 1
    }
    return hits
  })
}

interface Scene {
  db: TestDatabase
  fleet: Fleet
  /** Row counts at which to do the next harm. */
  marks: number[]
}

async function torture(
  plan: Plan,
  harm: (scene: Scene) => Promise<number>,
  route: (url: string) => string = (url) => url,
): Promise<Outcome> {
  const began = Date.now()
  await using db = await testDatabase(plan.clusterUrl)
  const given = {
    ...(plan.package === undefined ? {} : { package: plan.package }),
    ...(plan.lease === undefined ? {} : { lease: plan.lease }),
    ...(plan.idleInTransaction === undefined ? {} : { idleInTransaction: plan.idleInTransaction }),
  }
  const { processes: size = 3, lanes = 3, pauseMs = 12, secondsPerFault = 1.5 } = plan
  // A sub-batch takes about 3 ms beside its pause.
  const seconds = (plan.rows * (pauseMs + 3)) / 1_000
  const subBatchSize = Math.max(1, Math.floor(seconds / (plan.faults * secondsPerFault)))
  await using fleet = new Fleet({ db, workerUrl: route(db.workerUrl), size, lanes, pauseMs, subBatchSize, ...given })
  await fleet.start(plan.rows)
  const marks = Array.from({ length: plan.faults }, (_, i) => Math.floor((plan.rows * (i + 0.5)) / (plan.faults + 0.5)))
  const faults = await harm({ db, fleet, marks })
  await fleet.finished()
  return { ...(await judge(db, fleet, plan.rows)), faults, elapsedMs: Date.now() - began }
}

async function judge(db: TestDatabase, fleet: Fleet, rows: number): Promise<Omit<Outcome, 'faults' | 'elapsedMs'>> {
  // A woken worker may still be about to commit what it must not.
  await sleep(1_000)
  const wrong = await db.value<number>('select count(*)::int from counters where n <> 1')
  const [end] = await db.query<{ status: string; rows_changed: number }>(
    'select status, rows_changed::int from sluice.operation_history',
  )
  return {
    rows,
    wrong,
    counted: end?.rows_changed ?? 0,
    status: end?.status ?? 'unfinished',
    fenceRefusals: fleet.count('batch.lost'),
    rescued: fleet.count('batch.rescued'),
    doubted: fleet.count('sub-batch.doubted'),
  }
}

async function untilHolder(
  fleet: Fleet,
  except: ReadonlySet<number>,
): Promise<NonNullable<Awaited<ReturnType<Fleet['holder']>>>> {
  for (let i = 0; i < 500; i++) {
    const holder = await fleet.holder(except)
    if (holder !== undefined) return holder
    await sleep(20)
  }
  throw new Error('no worker holds a batch')
}
