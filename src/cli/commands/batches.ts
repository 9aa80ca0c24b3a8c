import type { CommandAdder } from '../shell.ts'
import { addCancel } from './batches/cancel.ts'
import { addList } from './batches/list.ts'
import { addShow } from './batches/show.ts'

const verbs: readonly CommandAdder[] = [addList, addShow, addCancel]

export const addBatches: CommandAdder = (parent, shell) => {
  const batches = parent
    .command('batches')
    .description('see how far batches of jobs are, and end them')
    .helpCommand(false)
  for (const add of verbs) add(batches, shell)
}
