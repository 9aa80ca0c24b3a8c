import type { Command } from 'commander'
import { verbs, type OperationStatus } from '../../../index.ts'
import { confirmByWord } from '../../confirm.ts'
import { percent, plural } from '../../figures.ts'
import { withSluice } from '../../session.ts'
import type { CommandAdder, Shell } from '../../shell.ts'
import { tellStatus } from '../../verb-command.ts'
import { addWho, whoOf, type WhoOptions } from '../../who.ts'

interface CancelOptions extends WhoOptions {
  yes?: boolean
}

export const addCancel: CommandAdder = (parent, shell) => {
  const command = parent
    .command('cancel <id>')
    .description('end an operation for good without finishing it; what is done stays done')
  addWho(command)
    .option('--yes', 'do not ask; needed where nobody can be asked')
    .action((id: string, _: unknown, own: Command) => cancel(shell, id, own.optsWithGlobals<CancelOptions>()))
}

async function cancel(shell: Shell, id: string, options: CancelOptions): Promise<void> {
  await withSluice(shell, { options }, async ({ sluice }) => {
    const status = await sluice.operations.get(id)
    const possible: readonly string[] = verbs.cancel
    if (options.yes !== true && possible.includes(status.state)) {
      await confirmByWord(shell, { word: status.name, warning: warningOf(status) })
    }
    tellStatus(shell, await sluice.operations.cancel(id, whoOf(options)))
  })
}

function warningOf({ name, progress, rowsChanged }: OperationStatus): string {
  const at = progress === undefined ? '' : ` at ${percent(progress)}`
  return `This ends ${name}${at} for good; ${plural(rowsChanged, 'changed row')} will stay as ${rowsChanged === 1 ? 'it is' : 'they are'}.`
}
