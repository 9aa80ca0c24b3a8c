import { Option, type Command } from 'commander'
import { csvHead, csvLine } from '../../../index.ts'
import { addFilter, queryOf, type FilterOptions } from '../../audit/filter.ts'
import { withSluice } from '../../session.ts'
import type { CommandAdder, Shell } from '../../shell.ts'

interface ExportOptions extends FilterOptions {
  format: 'csv' | 'json'
}

export const addExport: CommandAdder = (parent, shell) => {
  const command = parent
    .command('export')
    .description('all acts that the options leave, latest first, as CSV or as one JSON object per line')
    .addOption(new Option('--format <format>', 'how').choices(['csv', 'json']).default('csv'))
  addFilter(command).action((_: unknown, own: Command) => exportActs(shell, own.optsWithGlobals<ExportOptions>()))
}

async function exportActs(shell: Shell, options: ExportOptions): Promise<void> {
  const { output } = shell
  const asJson = output.json || options.format === 'json'
  await withSluice(shell, { options }, async ({ sluice }) => {
    if (!asJson) output.data(csvHead)
    for await (const act of sluice.audit.all(queryOf(options))) {
      if (asJson) output.record({ act })
      else output.data(csvLine(act))
    }
  })
}
