import type { CommandAdder } from '../shell.ts'
import { addLimit } from './queues/limit.ts'
import { addList } from './queues/list.ts'
import { addPause } from './queues/pause.ts'
import { addResume } from './queues/resume.ts'

const verbs: readonly CommandAdder[] = [addList, addPause, addResume, addLimit]

export const addQueues: CommandAdder = (parent, shell) => {
  const queues = parent
    .command('queues')
    .description('see what waits in the queues, stop them, and slow them down')
    .helpCommand(false)
  for (const add of verbs) add(queues, shell)
}
