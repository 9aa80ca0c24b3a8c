import type { Command } from 'commander'
import { parseBatchId } from '../../batches/id.ts'
import { sentenceOf } from '../../batches/lines.ts'
import { withSluice } from '../../session.ts'
import type { CommandAdder, GlobalOptions, Shell } from '../../shell.ts'
import { whoOf } from '../../who.ts'

interface CancelOptions extends GlobalOptions {
  reason?: string
}

export const addCancel: CommandAdder = (parent, shell) => {
  parent
    .command('cancel')
    .argument('<id>', '', parseBatchId)
    .description('end what is left of a batch of jobs; handlers that run are told to stop')
    .option('--reason <text>', 'why, for those who look later')
    .action((id: number, _: unknown, command: Command) => cancel(shell, id, command.optsWithGlobals<CancelOptions>()))
}

async function cancel(shell: Shell, id: number, options: CancelOptions): Promise<void> {
  const { output } = shell
  await withSluice(shell, { options }, async ({ sluice }) => {
    const batch = await sluice.batches.cancel(id, whoOf(options))
    if (output.json) return output.record({ batch })
    output.data(['yellow', '!'], ` ${sentenceOf(batch)}`)
  })
}
