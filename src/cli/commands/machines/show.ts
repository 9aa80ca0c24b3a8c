import type { Command } from 'commander'
import { stateTable } from '../../machines/table.ts'
import { withSluice } from '../../session.ts'
import type { CommandAdder, GlobalOptions, Shell } from '../../shell.ts'

export const addShow: CommandAdder = (parent, shell) => {
  parent
    .command('show <machine>')
    .description('rows by state, and the graph as Mermaid')
    .action((name: string, _: unknown, command: Command) => show(shell, name, command.optsWithGlobals<GlobalOptions>()))
}

async function show(shell: Shell, name: string, options: GlobalOptions): Promise<void> {
  const { output } = shell
  await withSluice(shell, { options, configFile: 'required' }, async ({ sluice }) => {
    const machine = await sluice.machines.show(name)
    if (output.json) return output.record({ machine })
    for (const line of stateTable(machine, output.columns)) output.data(...line)
    output.data('')
    for (const line of machine.graph.split('\n')) output.data(line)
    if (machine.counted === 'estimate') {
      output.note(
        `The numbers are estimates: ${machine.table} is large, and no index starts with its state. ANALYZE keeps them fresh.`,
      )
    }
    if (machine.unknown.length > 0) output.warn('some rows are in a state that the machine does not know')
  })
}
