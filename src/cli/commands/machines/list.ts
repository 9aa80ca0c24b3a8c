import type { Command } from 'commander'
import { tableLines } from '../../layout.ts'
import { withSluice } from '../../session.ts'
import type { CommandAdder, GlobalOptions, Shell } from '../../shell.ts'

export const addList: CommandAdder = (parent, shell) => {
  parent
    .command('list')
    .description('the machines of the configuration file')
    .action((_: unknown, command: Command) => list(shell, command.optsWithGlobals<GlobalOptions>()))
}

async function list(shell: Shell, options: GlobalOptions): Promise<void> {
  const { output } = shell
  await withSluice(shell, { options, configFile: 'required' }, async ({ sluice }) => {
    const machines = sluice.machines.list()
    if (output.json) return output.record({ machines })
    if (machines.length === 0) return output.note('The configuration lists no machine.')
    const columns = [{ title: 'machine' }, { title: 'table' }, { title: 'states', least: 12 }]
    const rows = machines.map(({ name, table, states }) => [['bold', name] as const, table, states.join(', ')])
    for (const line of tableLines(columns, rows, output.columns)) output.data(...line)
  })
}
