import type { Database } from '../../store/database.ts'
import { classify, isLocked } from '../../store/sqlstate.ts'
import type { Outcome } from '../outcome.ts'
import type { Target } from '../target.ts'
import { readBounds } from './bounds.ts'
import { findCut, findTail } from './cut.ts'
import { readHistogram } from './histogram.ts'
import { describeTable } from './table.ts'
import { keyAt, lastKey } from './window.ts'
import { readKey } from './cursor.ts'
import { checkPlans, checkUp } from './preflight/check.ts'
import { rehearseFrom } from './preflight/dry-run.ts'
import { lookAhead } from './preflight/look-ahead.ts'
import { planOf } from './preflight/plans.ts'
import { resolve } from './preflight/resolve.ts'
import { commitStretch } from './commit.ts'
import { enter } from './enter.ts'
import { readClaim } from './fence.ts'
import { look } from './look.ts'
import { postgresUpkeep } from './upkeep.ts'
import { passOver, quarantine } from './set-aside.ts'
import { inStrides, nextWindow } from './stretch.ts'

/** The database that holds our tables, as a target: a change and its checkpoint are one transaction. */
export function postgresTarget(database: Database): Target {
  return {
    describe: async (table) => describeTable(database.control, table),
    enter: async (batch) => enter(database, batch),
    check: {
      resolve: async (wanted) => resolve(database, wanted),
      key: async (cursor, given) => readKey(database.control, cursor, given),
      last: async (walk, by = database.control) => lastKey(by, walk),
      up: async (subject) => checkUp(database.control, subject),
      plans: async (walked) => checkPlans(database, walked),
      ahead: async (wanted) => lookAhead(database.control, wanted),
      rehearse: async (wanted) => rehearseFrom(database, wanted),
      plan: async (recorded) => planOf(database.control, recorded),
    },
    windows: {
      cut: async (walk, wanted) => findCut(database, walk, wanted),
      keyAt: async (walk, { limitMs: statementMs, ...place }) =>
        database.control.transaction((transaction) => keyAt(transaction, { walk, ...place }), { statementMs }),
      bounds: async (walk) => readBounds(database.control, walk),
      tail: async (wanted) => findTail(database, wanted),
      shares: async (column, values) => readHistogram(database.control, column, values),
      async next(work, { plain, known, ...window }) {
        const found = known ?? (await nextWindow(database.work, work, window))
        return plain ? found : inStrides(database, work, found)
      },
      look: async (work, wanted) => look(database, work, wanted),
    },
    commit: async (work, sub) => orFailed(commitStretch(database, work, sub)),
    passOver: async (work, empty) => orFailed(passOver(database, work, empty)),
    quarantine: async (work, range) => orFailed(quarantine(database, work, range)),
    where: async (claim) => readClaim(database.control, claim),
    upkeep: () => postgresUpkeep(database),
    classify: (error) => (isLocked(error) ? 'locked' : classify(error)),
  }
}

async function orFailed<Done>(work: Promise<Outcome<Done>>): Promise<Outcome<Done>> {
  return work.catch((error: unknown) => ({ kind: 'failed', error }))
}
