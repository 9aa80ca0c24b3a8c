import type { Command } from 'commander'
import { inboxTable } from '../../inbox/table.ts'
import { withSluice } from '../../session.ts'
import type { CommandAdder, GlobalOptions, Shell } from '../../shell.ts'

export const addList: CommandAdder = (parent, shell) => {
  parent
    .command('list')
    .description('all inboxes with what waits in them')
    .action((_: unknown, command: Command) => list(shell, command.optsWithGlobals<GlobalOptions>()))
}

async function list(shell: Shell, options: GlobalOptions): Promise<void> {
  const { output } = shell
  await withSluice(shell, { options }, async ({ sluice }) => {
    const inboxes = await sluice.inboxes.list()
    if (output.json) return output.record({ inboxes })
    if (inboxes.length === 0)
      return output.note('There is no inbox yet: one is there once a message was received in it.')
    for (const line of inboxTable(inboxes, output.columns)) output.data(...line)
    if (inboxes.some(({ failed }) => failed > 0)) {
      output.note(
        'Messages have failed: "sluice jobs list --dead" shows their jobs, and "sluice jobs retry" takes one up again.',
      )
    }
  })
}
