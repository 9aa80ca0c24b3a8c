import type { Command } from 'commander'
import { parseBatchId } from '../../batches/id.ts'
import { batchLines } from '../../batches/lines.ts'
import { withSluice } from '../../session.ts'
import type { CommandAdder, GlobalOptions, Shell } from '../../shell.ts'

export const addShow: CommandAdder = (parent, shell) => {
  parent
    .command('show')
    .argument('<id>', '', parseBatchId)
    .description('how far a batch of jobs is or how it ended, with its callbacks and the members that failed')
    .action((id: number, _: unknown, command: Command) => show(shell, id, command.optsWithGlobals<GlobalOptions>()))
}

async function show(shell: Shell, id: number, options: GlobalOptions): Promise<void> {
  const { output } = shell
  await withSluice(shell, { options }, async ({ sluice }) => {
    const batch = await sluice.batches.get(id)
    if (output.json) return output.record({ batch })
    for (const line of batchLines(batch, output.columns)) output.data(...line)
  })
}
