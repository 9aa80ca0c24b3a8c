import type { Command } from 'commander'
import { withSluice } from '../../session.ts'
import type { CommandAdder, GlobalOptions, Shell } from '../../shell.ts'
import { isolatedTable, sweepSentence } from '../../sweeps/lines.ts'

/** A screen of isolated rows; --json gives more. */
const shown = 20
const most = 1_000

export const addShow: CommandAdder = (parent, shell) => {
  parent
    .command('show <sweep>')
    .description('where a sweep stands, and the rows that were isolated with their error')
    .action((name: string, _: unknown, command: Command) => show(shell, name, command.optsWithGlobals<GlobalOptions>()))
}

async function show(shell: Shell, name: string, options: GlobalOptions): Promise<void> {
  const { output } = shell
  await withSluice(shell, { options, configFile: 'required' }, async ({ sluice }) => {
    const sweep = await sluice.sweeps.get(name)
    const isolated = await sluice.sweeps.quarantined(name, { limit: output.json ? most : shown })
    if (output.json) return output.record({ sweep: { ...sweep, quarantinedRows: isolated } })
    output.data(sweepSentence(sweep))
    for (const line of isolatedTable(isolated, new Date(), output.columns)) output.data(...line)
    const more = sweep.quarantined - isolated.length
    if (more > 0) output.note(`and ${more} more`)
  })
}
