import type { Command } from 'commander'
import { parseBatchId } from '../../batches/id.ts'
import { sentenceOf } from '../../batches/lines.ts'
import { withSluice } from '../../session.ts'
import type { CommandAdder, Shell } from '../../shell.ts'
import { addWho, whoOf, type WhoOptions } from '../../who.ts'

export const addCancel: CommandAdder = (parent, shell) => {
  const command = parent
    .command('cancel')
    .argument('<id>', '', parseBatchId)
    .description('end what is left of a batch of jobs; handlers that run are told to stop')
  addWho(command).action((id: number, _: unknown, own: Command) => cancel(shell, id, own.optsWithGlobals<WhoOptions>()))
}

async function cancel(shell: Shell, id: number, options: WhoOptions): Promise<void> {
  const { output } = shell
  await withSluice(shell, { options }, async ({ sluice }) => {
    const batch = await sluice.batches.cancel(id, whoOf(options))
    if (output.json) return output.record({ batch })
    output.data(['yellow', '!'], ` ${sentenceOf(batch)}`)
  })
}
