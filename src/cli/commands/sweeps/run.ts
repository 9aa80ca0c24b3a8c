import type { Command } from 'commander'
import { withSluice } from '../../session.ts'
import type { CommandAdder, GlobalOptions, Shell } from '../../shell.ts'
import { sweepSentence } from '../../sweeps/lines.ts'

export const addRun: CommandAdder = (parent, shell) => {
  parent
    .command('run <sweep>')
    .description('have the workers look for due rows now; a hold is over')
    .action((name: string, _: unknown, command: Command) => run(shell, name, command.optsWithGlobals<GlobalOptions>()))
}

async function run(shell: Shell, name: string, options: GlobalOptions): Promise<void> {
  const { output } = shell
  await withSluice(shell, { options, configFile: 'required' }, async ({ sluice }) => {
    await sluice.sweeps.run(name)
    const sweep = await sluice.sweeps.get(name)
    if (output.json) return output.record({ sweep })
    output.data(['green', '✓'], ` ${sweepSentence(sweep)}`)
  })
}
