import { recordAct, type Who } from '../store/audit.ts'
import type { StoreConnection } from '../store/connection.ts'
import type { Database } from '../store/database.ts'
import { askToEnd, discardDead, runNow } from '../store/jobs/control.ts'
import { createJobPartitions } from '../store/jobs/rescue.ts'
import { admitBehind } from '../store/jobs/settle.ts'
import { sqlstate } from '../store/sqlstate.ts'
import type { Telemetry } from '../telemetry/telemetry.ts'
import type { BulkAction } from './bulk.ts'
import * as members from './members.ts'

/** What to do to jobs. */
export interface Order {
  action: BulkAction
  reason: string
  /** Who asks for it, when it is a person: then it is written down, in the same transaction. */
  who?: Who
  /** The state that the job was in before. */
  was?: string | undefined
  /** Only while it is in this state. */
  from?: string | undefined
}

interface Deps {
  database: Database
  telemetry: Telemetry
  /** Tells all workers that there may be something to do. */
  tell: () => Promise<void>
}

/** Acts on jobs, and gives the number of those on which that had an effect. */
export async function actOn(deps: Deps, ids: readonly number[], order: Order): Promise<number> {
  const { database } = deps
  const { action, reason } = order
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
function noteFor({ who, action, was }: Order, state: string): members.Note {
  return async (connection: StoreConnection, touched) => {
    if (who === undefined) return
    for (const { id } of touched) {
      const states = { before: was === undefined ? undefined : { state: was }, after: { state } }
      await recordAct(connection, who, { action: `job.${action}`, target: String(id), ...states })
    }
  }
}

type Ending = Parameters<typeof members.endWaiting>[1]

async function endWaiting({ database }: Deps, ending: Ending, order: Order): Promise<members.Acted> {
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

async function admitted({ database, telemetry, tell }: Deps, { touched, news }: members.Acted): Promise<number> {
  members.reportBatches(telemetry, news)
  const keys = touched.flatMap(({ key }) => (key === null ? [] : [key]))
  if (keys.length > 0) await admitBehind(database.control, { keys })
  if (touched.length > 0) await tell()
  return touched.length
}
