import type { Command } from 'commander'
import { exitCodes } from '../../exit-codes.ts'
import { follow } from '../../follow.ts'
import { outcomeLines } from '../../operation-lines.ts'
import { progressView, recordView } from '../../progress-view.ts'
import { withSluice } from '../../session.ts'
import type { CommandAdder, GlobalOptions, Shell } from '../../shell.ts'

export const addWatch: CommandAdder = (parent, shell) => {
  parent
    .command('watch <id>')
    .description('show the progress of an operation until it has ended; exits with 1 when it failed')
    .action((id: string, _: unknown, command: Command) => watch(shell, id, command.optsWithGlobals<GlobalOptions>()))
}

async function watch(shell: Shell, id: string, options: GlobalOptions): Promise<void> {
  const { output, signal } = shell
  await withSluice(shell, { options }, async ({ sluice }) => {
    const view = output.json ? recordView(output) : progressView(output)
    const status = await follow(sluice, id, { view, signal })
    if (status.state === 'failed') process.exitCode = exitCodes.failed
    if (!output.json) for (const line of outcomeLines(status)) output.data(...line)
  })
}
