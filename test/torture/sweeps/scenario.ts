import { setTimeout as sleep } from 'node:timers/promises'
import { testDatabase, type TestDatabase } from '../../support/database.ts'
import { leaseMs, SweepFleet } from './fleet.ts'
import { Application, seed, sweepsText } from './pastes.ts'
import { ObjectStore } from './store.ts'
import { judge, type Wrongs } from './verdict.ts'

export interface Plan {
  clusterUrl: string
  pastes: number
  objects: number
  processes: number
  kills: number
  stops: number
  /** Calls to the store that go wrong, beside those during the outage. */
  faults: number
  outageMs: number
  /** At least so many objects are uploaded again during a claim. */
  recreations: number
  latencyMs: number
  package?: URL
}

export interface Outcome extends Wrongs {
  pastes: number
  kills: number
  stops: number
  faults: ObjectStore['hits']
  recreated: number
  /** New pastes of content that was there. */
  reused: number
  /** Deletes that met another version than they meant, and passed it by. */
  refusedDeletes: number
  calls: number
  finalised: number
  rescued: number
  lost: number
  spared: number
  holds: number
  quarantined: number
  elapsedMs: number
}

/** Pastes that share objects, workers that come to harm, a store with trouble, and an application that goes on. */
export async function tortureSweeps(plan: Plan): Promise<Outcome> {
  const began = Date.now()
  await using db = await testDatabase(plan.clusterUrl)
  const every = Math.max(2, Math.floor((plan.pastes * 0.9) / Math.max(1, plan.faults)))
  await using store = new ObjectStore({ faults: plan.faults, every, latencyMs: plan.latencyMs })
  await store.start()
  await seed(db, store, plan)
  const expired = (
    await db.query<{ code: string }>('select short_code as code from pastes where expires_at < now()')
  ).map(({ code }) => code)
  const home = plan.package === undefined ? {} : { package: plan.package }
  await using fleet = new SweepFleet({ db, sweeps: sweepsText(store.url), size: plan.processes, ...home })
  const application = new Application(db.url, store)
  try {
    await fleet.start()
    const hits = await harm(plan, { db, store, fleet, application, expired: expired.length })
    await settled(db)
    const wrongs = await judge(db, store, expired)
    return { ...wrongs, ...hits, ...figures(plan, { store, fleet, application }), elapsedMs: Date.now() - began }
  } finally {
    await application.end()
  }
}

interface Scene {
  db: TestDatabase
  store: ObjectStore
  fleet: SweepFleet
  application: Application
  expired: number
}

type Hits = Pick<Outcome, 'kills' | 'stops'>

/** Does all harm, spread over the work, while the application goes on. */
async function harm(plan: Plan, scene: Scene): Promise<Hits> {
  const over = new AbortController()
  const making = makePastes(plan, scene, over.signal)
  const hits: Hits = { kills: 0, stops: 0 }
  const asleep = new Set<number>()
  const wakes: Promise<void>[] = []
  const deeds = mingle(plan.kills, plan.stops, plan.outageMs > 0 ? 1 : 0)
  for (const [i, deed] of deeds.entries()) {
    await reached(scene, (i + 0.5) / (deeds.length + 1))
    if (deed === 'outage') wakes.push(outage(scene.store, plan.outageMs))
    else if (deed === 'kill') {
      await scene.fleet.kill(asleep)
      hits.kills += 1
    } else {
      // One stays awake to take over.
      while (asleep.size >= plan.processes - 1) await sleep(50)
      wakes.push((await scene.fleet.stop(asleep, i)).woken)
      hits.stops += 1
    }
  }
  await Promise.all(wakes)
  over.abort()
  await making
  return hits
}

async function outage(store: ObjectStore, forMs: number): Promise<void> {
  store.down = true
  await sleep(forMs)
  store.down = false
}

/** Makes pastes until there was enough harm and enough of them. */
async function makePastes({ recreations }: Plan, { application }: Scene, signal: AbortSignal): Promise<void> {
  while (!signal.aborted || application.recreated < recreations) {
    await application.make()
    await sleep(5)
  }
}

/** Waits until such a part of the expired pastes had its effect. */
async function reached({ store, expired, fleet }: Scene, share: number): Promise<void> {
  for (const end = Date.now() + 300_000; store.purges.size < expired * share; await sleep(10)) {
    if (Date.now() > end) throw new Error(`stuck at ${store.purges.size} of ${expired} pastes\n${fleet.lastWords()}`)
  }
}

/**
 * Waits until nothing is due or claimed any more but what was isolated, and for those who were asleep to do what they
 * must not. What is left after a good while is told by the verdict.
 */
async function settled(db: TestDatabase): Promise<void> {
  const left = (): Promise<string> =>
    db.value<string>(`select (select count(*) from pastes p where expires_at < now() + interval '1 second'
        and not exists (select from sluice.sweep_claim c where c.key = array[p.short_code] and quarantined_at is not null))
      + (select count(*) from contents where ref_count = 0)
      + (select count(*) from sluice.sweep_claim where quarantined_at is null)`)
  for (const end = Date.now() + 120_000; (await left()) !== '0' && Date.now() < end;) await sleep(100)
  await sleep(leaseMs)
}

function figures(
  { pastes }: Plan,
  { store, fleet, application }: Pick<Scene, 'store' | 'fleet' | 'application'>,
): Omit<Outcome, keyof Wrongs | keyof Hits | 'elapsedMs'> {
  return {
    pastes,
    faults: store.hits,
    recreated: application.recreated,
    reused: application.reused,
    refusedDeletes: store.refused,
    calls: store.calls,
    finalised: fleet.count('sweep.finalised'),
    rescued: fleet.count('sweep.rescued'),
    lost: fleet.count('sweep.lost'),
    spared: fleet.count('sweep.spared'),
    holds: fleet.count('sweep.held'),
    quarantined: fleet.count('sweep.quarantined'),
  }
}

type Deed = 'kill' | 'stop' | 'outage'

const spread = (count: number, deed: Deed): { deed: Deed; at: number }[] =>
  Array.from({ length: count }, (_, i) => ({ deed, at: (i + 0.5) / count }))

/** All deeds in one list, evenly, with the outage in the middle. */
function mingle(kills: number, stops: number, outages: number): Deed[] {
  return [...spread(kills, 'kill'), ...spread(stops, 'stop'), ...spread(outages, 'outage')]
    .toSorted((a, b) => a.at - b.at)
    .map(({ deed }) => deed)
}
