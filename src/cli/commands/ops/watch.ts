import type { Command } from 'commander'
import { followUnlessLeft, tellEnd } from '../../follow-to-end.ts'
import { progressView, recordView } from '../../progress-view.ts'
import { withSluice } from '../../session.ts'
import type { CommandAdder, GlobalOptions, Shell } from '../../shell.ts'

export const addWatch: CommandAdder = (parent, shell) => {
  parent
    .command('watch <id>')
    .description('show the progress of an operation until it has ended; exits with 1 when it did not finish')
    .action((id: string, _: unknown, command: Command) => watch(shell, id, command.optsWithGlobals<GlobalOptions>()))
}

async function watch(shell: Shell, id: string, options: GlobalOptions): Promise<void> {
  const { output } = shell
  await withSluice(shell, { options }, async ({ sluice }) => {
    const view = output.json ? recordView(output) : progressView(output)
    tellEnd(output, await followUnlessLeft(shell, sluice, { id, view }))
  })
}
