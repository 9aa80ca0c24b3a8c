import type { Command } from 'commander'
import { withSluice } from '../../session.ts'
import type { CommandAdder, GlobalOptions, Shell } from '../../shell.ts'
import { sweepTable } from '../../sweeps/table.ts'

export const addList: CommandAdder = (parent, shell) => {
  parent
    .command('list')
    .description('the sweeps of the configuration file with what they have at hand')
    .action((_: unknown, command: Command) => list(shell, command.optsWithGlobals<GlobalOptions>()))
}

async function list(shell: Shell, options: GlobalOptions): Promise<void> {
  const { output } = shell
  await withSluice(shell, { options, configFile: 'required' }, async ({ sluice }) => {
    const sweeps = await sluice.sweeps.list()
    if (output.json) return output.record({ sweeps })
    if (sweeps.length === 0) return output.note('The configuration file lists no sweep.')
    for (const line of sweepTable(sweeps, output.columns)) output.data(...line)
  })
}
