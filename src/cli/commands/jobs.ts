import type { CommandAdder } from '../shell.ts'
import { addCancel } from './jobs/cancel.ts'
import { addDiscard } from './jobs/discard.ts'
import { addEnqueue } from './jobs/enqueue.ts'
import { addList } from './jobs/list.ts'
import { addLocks } from './jobs/locks.ts'
import { addRetry } from './jobs/retry.ts'
import { addRun } from './jobs/run.ts'
import { addShow } from './jobs/show.ts'
import { addUnlock } from './jobs/unlock.ts'

/** In the order of the help: begin, look, act, stop. */
const verbs: readonly CommandAdder[] = [
  addEnqueue,
  addList,
  addShow,
  addRetry,
  addRun,
  addCancel,
  addDiscard,
  addLocks,
  addUnlock,
]

export const addJobs: CommandAdder = (parent, shell) => {
  const jobs = parent
    .command('jobs')
    .description('enqueue jobs, see where they stand, and change their course')
    .helpCommand(false)
  for (const add of verbs) add(jobs, shell)
}
