import type { CommandAdder } from '../shell.ts'
import { addList } from './inbox/list.ts'
import { addShow } from './inbox/show.ts'

const verbs: readonly CommandAdder[] = [addList, addShow]

export const addInbox: CommandAdder = (parent, shell) => {
  const inbox = parent
    .command('inbox')
    .description('see what other systems have sent, and what became of it')
    .helpCommand(false)
  for (const add of verbs) add(inbox, shell)
}
