import { setTimeout as sleep } from 'node:timers/promises'
import type { FaultProxy } from '../../support/fault-proxy/index.ts'
import { leaseMs, type JobFleet } from './fleet.ts'

/** Where harm is done, and what is known of it afterwards. */
export interface Scene {
  fleet: JobFleet
  proxy: FaultProxy
  restart: (nth: number) => Promise<unknown>
  /** Processes that are asleep. */
  asleep: Set<number>
  /** Processes that were ever put to sleep. */
  stopped: Set<number>
  /** Wakings that are under way. */
  wakes: Promise<void>[]
  /** What killed workers held, and when they were killed. */
  bereft: { jobId: number; killedAtMs: number }[]
  restarts: number
}

/** Does one harm; tells whether it hit. */
type Harm = (scene: Scene) => Promise<boolean>

async function kill({ fleet, asleep, bereft }: Scene): Promise<boolean> {
  await sleep(Math.random() * 15)
  const victim = await fleet.holder(asleep)
  victim.kill('SIGKILL')
  const killedAtMs = Date.now()
  await victim.exited
  for (const jobId of await fleet.heldBy(victim.pid)) bereft.push({ jobId, killedAtMs })
  await fleet.spawn()
  return true
}

/**
 * Puts a worker to sleep for longer than its lease. It wakes at the worst of times: when the first of its jobs has
 * just been given away; while its session is still there; or when the server has ended that.
 */
async function stop({ fleet, asleep, stopped, wakes }: Scene): Promise<boolean> {
  // One stays awake to take over.
  while (asleep.size >= fleet.alive.length - 1) await sleep(50)
  const victim = await fleet.holder(asleep)
  victim.kill('SIGSTOP')
  const nth = wakes.length
  asleep.add(victim.pid)
  stopped.add(victim.pid)
  const wake = async (): Promise<void> => {
    if (nth % 3 === 0) await firstGivenAway(fleet, victim.pid)
    else await sleep(leaseMs + (nth % 3 === 1 ? 1_500 : 4_000))
    victim.kill('SIGCONT')
    await sleep(700)
    asleep.delete(victim.pid)
  }
  wakes.push(wake())
  return true
}

async function firstGivenAway(fleet: JobFleet, pid: number): Promise<void> {
  // While the server is restarted nobody can tell.
  const held = async (): Promise<number> => (await fleet.heldBy(pid).catch(() => [])).length
  const before = await held()
  for (let waited = 0; waited < 6_000 && (await held()) >= before; waited += 20) await sleep(20)
}

/** The server has done it, and nobody hears that it has. */
const loseAnswerTo =
  (statement: RegExp): Harm =>
  async ({ proxy }) => {
    using rule = proxy.dropAnswerTo(statement, { times: 1, ending: 'rst' })
    for (let waited = 0; rule.hits === 0 && waited < 5_000; waited += 10) await sleep(10)
    return rule.hits > 0
  }

/** Cuts one connection of a worker, whatever it is doing. */
async function cut({ proxy }: Scene): Promise<boolean> {
  const links = proxy.links.filter(({ applicationName }) => applicationName?.startsWith('sluice'))
  const busy = links.filter(({ status }) => status === 'T')
  const chosen = pick(Math.random() < 0.5 && busy.length > 0 ? busy : links)
  return chosen !== undefined && proxy.cut('rst', { which: ({ id }) => id === chosen.id }) > 0
}

async function restartServer(scene: Scene): Promise<boolean> {
  await scene.restart(scene.restarts++)
  return true
}

/** All kinds of harm; those that `lose` an answer or `cut` are connection cuts. */
export const harms = {
  kill,
  stop,
  cut,
  loseCommit: loseAnswerTo(/^commit/i),
  loseClaim: loseAnswerTo(/sluice\.claim_jobs/),
  loseCompletion: loseAnswerTo(/sluice\.complete_jobs/),
  loseMembers: loseAnswerTo(/sluice\.complete_member_jobs/),
  loseEnqueue: loseAnswerTo(/sluice\.enqueue/),
  restart: restartServer,
} satisfies Record<string, Harm>

export type HarmName = keyof typeof harms

function pick<T>(list: readonly T[]): T | undefined {
  return list[Math.floor(Math.random() * list.length)]
}
