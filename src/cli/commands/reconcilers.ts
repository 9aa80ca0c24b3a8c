import type { CommandAdder } from '../shell.ts'
import { addList } from './reconcilers/list.ts'
import { addRun } from './reconcilers/run.ts'

const verbs: readonly CommandAdder[] = [addList, addRun]

export const addReconcilers: CommandAdder = (parent, shell) => {
  const reconcilers = parent
    .command('reconcilers')
    .description('see what looks for forgotten records, and let it look now')
    .helpCommand(false)
  for (const add of verbs) add(reconcilers, shell)
}
