import type { CommandAdder } from '../shell.ts'
import { addList } from './sweeps/list.ts'
import { addRun } from './sweeps/run.ts'
import { addShow } from './sweeps/show.ts'

const verbs: readonly CommandAdder[] = [addList, addShow, addRun]

export const addSweeps: CommandAdder = (parent, shell) => {
  const sweeps = parent
    .command('sweeps')
    .description('see where sweeps stand, and have them run now')
    .helpCommand(false)
  for (const add of verbs) add(sweeps, shell)
}
