import type { JobAct, QueueAct, QueueActs } from '../../jobs/queue.ts'
import type { Telemetry } from '../../telemetry/telemetry.ts'
import { audited, recordAct } from '../audit.ts'
import type { StoreConnection } from '../connection.ts'
import type { Database } from '../database.ts'
import { refuseStale } from '../expected.ts'
import { sqlstate } from '../sqlstate.ts'
import { askToEnd, discardDead, limitQueue, lockQueue, pauseQueue, runNow, unlock } from './control.ts'
import { freeOrphanKeys, goneJobs } from './enqueue.ts'
import type { Enqueuer } from './enqueuer.ts'
import * as members from './endings.ts'
import { createJobPartitions } from './rescue.ts'
import { admitBehind } from './settle.ts'

interface Deps {
  database: Database
  telemetry: Telemetry
  enqueuer: Enqueuer
}

/** What changes jobs, queues and keys, by name. */
export const acts: {
  [K in keyof QueueActs]: (deps: Deps, order: QueueActs[K]['order']) => Promise<QueueActs[K]['done']>
} = { jobs: actOn, queue: changeQueue, unlock: freeKey, freeOrphans }

async function actOn(deps: Deps, order: JobAct): Promise<number> {
  const { database } = deps
  const { ids, action, reason } = order
  const which = { ids, from: order.from ?? null }
  switch (action) {
    case 'retry':
      return admitted(deps, await members.retryDead(database, which, noteFor(order, 'waiting')))
    case 'run': {
      const note = noteFor(order, 'waiting')
      const touched = await database.control.transaction(async (tx) => {
        const ran = await runNow(tx, which)
        await note(tx, ran)
        return ran
      })
      return admitted(deps, { touched, news: [] })
    }
    case 'discard': {
      const ended = await endWaiting(deps, { ...which, outcome: 'discarded', reason }, order)
      const note = noteFor(order, 'discarded')
      const marked = await database.control.transaction(async (tx) => {
        const dead = await discardDead(tx, { ...which, reason })
        await note(tx, dead)
        return dead
      })
      return (await admitted(deps, ended)) + marked.length
    }
    case 'cancel': {
      const ended = await endWaiting(deps, { ...which, outcome: 'cancelled', reason }, order)
      const note = noteFor(order, 'cancelling')
      const asked = await database.control.transaction(async (tx) => {
        const told = await askToEnd(tx, { ...which, reason })
        await note(tx, told)
        return told
      })
      return (await admitted(deps, ended)) + asked.length
    }
  }
}

/** Writes down what a person did to each job. */
function noteFor({ who, action, was }: JobAct, state: string): members.Note {
  return async (connection: StoreConnection, touched) => {
    if (who === undefined) return
    for (const { id } of touched) {
      const states = { before: was === undefined ? undefined : { state: was }, after: { state } }
      await recordAct(connection, who, { action: `job.${action}`, target: String(id), ...states })
    }
  }
}

type Ending = Parameters<typeof members.endWaiting>[1]

async function endWaiting({ database }: Deps, ending: Ending, order: JobAct): Promise<members.Acted> {
  const note = noteFor(order, ending.outcome)
  try {
    return await members.endWaiting(database, ending, note)
  } catch (error) {
    // No worker has been there for a week to make a partition for today.
    if (sqlstate(error) !== '23514') throw error
    await createJobPartitions(database.control)
    return members.endWaiting(database, ending, note)
  }
}

async function admitted({ database, telemetry, enqueuer }: Deps, { touched, news }: members.Acted): Promise<number> {
  members.reportBatches(telemetry, news)
  const keys = touched.flatMap(({ key }) => (key === null ? [] : [key]))
  if (keys.length > 0) await admitBehind(database.control, { keys })
  if (touched.length > 0) await enqueuer.tellAll()
  return touched.length
}

/** False: there is no such queue. */
async function changeQueue({ database }: Deps, { queue, verb, who, actor, after }: QueueAct): Promise<boolean> {
  return audited(database, who, async (tx) => {
    const [was] = await lockQueue(tx, { name: queue })
    if (was !== undefined) refuseStale(`Queue ${queue}`, was.paused ? 'paused' : 'open', who)
    if (was === undefined) return { result: false, act: undefined }
    const { paused = false, limit = null, perMs = null } = after
    if (verb === 'limit') await limitQueue(tx, { name: queue, limit, perMs })
    else await pauseQueue(tx, { name: queue, paused, actor })
    const before = Object.fromEntries(Object.entries(was).filter(([key]) => key in after))
    return { result: true, act: { action: `queue.${verb}`, target: queue, before, after: { ...after } } }
  })
}

async function freeKey({ database }: Deps, { name, key, who }: QueueActs['unlock']['order']): Promise<boolean> {
  return audited(database, who, async (tx) => {
    const [freed] = await unlock(tx, { name, key })
    const act = freed && { action: 'job.unlock', target: name, before: { key, jobId: freed.job_id } }
    return { result: freed !== undefined, act }
  })
}

async function freeOrphans(
  { database: { control } }: Deps,
  { ids }: QueueActs['freeOrphans']['order'],
): Promise<Set<number>> {
  const gone = ids.length === 0 ? [] : await goneJobs(control, { ids })
  if (gone.length === 0) return new Set()
  const freed = await freeOrphanKeys(control, { ids: gone.map(({ id }) => id) })
  return new Set(freed.map(({ id }) => id))
}
