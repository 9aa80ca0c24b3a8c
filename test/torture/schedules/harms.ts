import { setTimeout as sleep } from 'node:timers/promises'
import type { TestDatabase } from '../../support/database.ts'
import type { FaultProxy } from '../../support/fault-proxy/index.ts'
import type { ClockFleet } from './fleet.ts'

interface Scene {
  db: TestDatabase
  fleet: ClockFleet
  proxy: FaultProxy
  nth: number
}

/** Does one harm around a tick; tells whether it hit, and whether a tick was just being settled. */
export type TickHarm = (scene: Scene) => Promise<'missed' | 'hit' | 'in transaction'>

/** SIGKILLs a worker within 200 ms of a tick, before or after it, and replaces it. */
export const kill: TickHarm = async ({ db, fleet, nth }) => {
  await sleep(await msToTick(db, -200 + Math.random() * 400))
  const victim = await fleet.victim(nth % 2 === 0 ? 'settler' : 'any')
  victim.kill('SIGKILL')
  await victim.exited
  await fleet.spawn()
  return 'hit'
}

/**
 * SIGSTOPs a worker for longer than its lease, most of them while they settle a tick: answers are slow meanwhile. One
 * wakes while its session is still there, the next when the server has ended that and others have settled its tick.
 */
export const stop: TickHarm = async ({ db, fleet, proxy, nth }) => {
  const slow = proxy.delay(15)
  await sleep(await msToTick(db, Math.random() * 120))
  const victim = await fleet.victim(nth % 2 === 0 ? 'settler' : 'any')
  victim.kill('SIGSTOP')
  slow[Symbol.dispose]()
  // What it has sent before is answered by now.
  await sleep(100)
  const caught = await db.value<boolean>(
    `select exists (select from pg_stat_activity where datname = current_database() and state = 'idle in transaction')`,
  )
  await sleep(nth % 2 === 0 ? 5_000 : 2_500)
  victim.kill('SIGCONT')
  return caught ? 'in transaction' : 'hit'
}

/** The tick is settled, and the worker that has done it does not hear so. */
export const loseCommit: TickHarm = async ({ proxy }) => {
  using rule = proxy.dropAnswerTo(/^commit/i, { times: 1, ending: 'rst' })
  for (let waited = 0; rule.hits === 0 && waited < 10_000; waited += 10) await sleep(10)
  return rule.hits > 0 ? 'in transaction' : 'missed'
}

/** How long it is to the next whole second of the database, and so much more or less. */
async function msToTick(db: TestDatabase, aside: number): Promise<number> {
  const past = await db.value<number>(`select (extract(milliseconds from clock_timestamp())::int % 1000)`)
  const wait = 1_000 - past + aside
  return wait < 0 ? wait + 1_000 : wait
}
