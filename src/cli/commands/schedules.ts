import type { CommandAdder } from '../shell.ts'
import { addDisable } from './schedules/disable.ts'
import { addEnable } from './schedules/enable.ts'
import { addList } from './schedules/list.ts'
import { addRun } from './schedules/run.ts'

const verbs: readonly CommandAdder[] = [addList, addRun, addEnable, addDisable]

export const addSchedules: CommandAdder = (parent, shell) => {
  const schedules = parent
    .command('schedules')
    .description('see what starts by the clock, start it now, and stop it')
    .helpCommand(false)
  for (const add of verbs) add(schedules, shell)
}
