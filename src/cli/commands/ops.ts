import type { CommandAdder } from '../shell.ts'
import { addShow } from './ops/show.ts'
import { addStart } from './ops/start.ts'
import { addWatch } from './ops/watch.ts'

const verbs: readonly CommandAdder[] = [addStart, addShow, addWatch]

export const addOps: CommandAdder = (parent, shell) => {
  const ops = parent.command('ops').description('start operations and see where they stand').helpCommand(false)
  for (const add of verbs) add(ops, shell)
}
