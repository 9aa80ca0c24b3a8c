import type { CommandAdder } from '../shell.ts'
import { addList } from './machines/list.ts'
import { addShow } from './machines/show.ts'

const verbs: readonly CommandAdder[] = [addList, addShow]

export const addMachines: CommandAdder = (parent, shell) => {
  const machines = parent
    .command('machines')
    .description('see how many rows are in which state, and the graph of the states')
    .helpCommand(false)
  for (const add of verbs) add(machines, shell)
}
