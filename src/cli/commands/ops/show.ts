import type { Command } from 'commander'
import { statusLines, statusRecord } from '../../operation-lines.ts'
import { withSluice } from '../../session.ts'
import type { CommandAdder, GlobalOptions, Shell } from '../../shell.ts'

export const addShow: CommandAdder = (parent, shell) => {
  parent
    .command('show <id>')
    .description('where an operation stands, also after its end')
    .action((id: string, _: unknown, command: Command) => show(shell, id, command.optsWithGlobals<GlobalOptions>()))
}

async function show(shell: Shell, id: string, options: GlobalOptions): Promise<void> {
  await withSluice(shell, { options }, async ({ sluice }) => {
    const status = await sluice.operations.get(id)
    if (shell.output.json) return shell.output.record({ operation: statusRecord(status) })
    for (const line of statusLines(status)) shell.output.data(...line)
  })
}
