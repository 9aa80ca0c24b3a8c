import type { Command } from 'commander'
import { reconcilerTable } from '../../reconcilers/table.ts'
import { withSluice } from '../../session.ts'
import type { CommandAdder, GlobalOptions, Shell } from '../../shell.ts'

export const addList: CommandAdder = (parent, shell) => {
  parent
    .command('list')
    .description('all reconcilers with what their last run found')
    .action((_: unknown, command: Command) => list(shell, command.optsWithGlobals<GlobalOptions>()))
}

async function list(shell: Shell, options: GlobalOptions): Promise<void> {
  const { output } = shell
  await withSluice(shell, { options }, async ({ sluice }) => {
    const reconcilers = await sluice.reconcilers.list()
    if (output.json) return output.record({ reconcilers })
    if (reconcilers.length === 0) return output.note('There is no reconciler: the configuration lists none.')
    for (const line of reconcilerTable(reconcilers, { now: new Date(), width: output.columns })) output.data(...line)
  })
}
