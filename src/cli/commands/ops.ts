import type { CommandAdder } from '../shell.ts'
import { addApprove } from './ops/approve.ts'
import { addCancel } from './ops/cancel.ts'
import { addDisable } from './ops/disable.ts'
import { addEnable } from './ops/enable.ts'
import { addFinalize } from './ops/finalize.ts'
import { addList } from './ops/list.ts'
import { addPause } from './ops/pause.ts'
import { addPlan } from './ops/plan.ts'
import { addQuarantine } from './ops/quarantine.ts'
import { addResume } from './ops/resume.ts'
import { addRetry } from './ops/retry.ts'
import { addSet } from './ops/set.ts'
import { addShow } from './ops/show.ts'
import { addStart } from './ops/start.ts'
import { addWatch } from './ops/watch.ts'

/** In the order of the help: begin, look, act, stop. */
const verbs: readonly CommandAdder[] = [
  addPlan,
  addStart,
  addList,
  addShow,
  addWatch,
  addQuarantine,
  addPause,
  addResume,
  addCancel,
  addApprove,
  addRetry,
  addFinalize,
  addSet,
  addDisable,
  addEnable,
]

export const addOps: CommandAdder = (parent, shell) => {
  const ops = parent
    .command('ops')
    .description('start operations, see where they stand, and steer them')
    .helpCommand(false)
  for (const add of verbs) add(ops, shell)
}
