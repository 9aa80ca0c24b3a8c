import type { CommandAdder } from '../shell.ts'
import { addExport } from './audit/export.ts'
import { addList } from './audit/list.ts'

const verbs: readonly CommandAdder[] = [addList, addExport]

export const addAudit: CommandAdder = (parent, shell) => {
  const audit = parent.command('audit').description('see who changed what, from where and why').helpCommand(false)
  for (const add of verbs) add(audit, shell)
}
