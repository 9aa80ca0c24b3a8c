import type { Command } from 'commander'
import { withSluice } from '../../session.ts'
import type { CommandAdder, Shell } from '../../shell.ts'
import { addWho, whoOf, type WhoOptions } from '../../who.ts'
import { sweepSentence } from '../../sweeps/lines.ts'

export const addRun: CommandAdder = (parent, shell) => {
  const command = parent.command('run <sweep>').description('have the workers look for due rows now; a hold is over')
  addWho(command).action((name: string, _: unknown, own: Command) =>
    run(shell, name, own.optsWithGlobals<WhoOptions>()),
  )
}

async function run(shell: Shell, name: string, options: WhoOptions): Promise<void> {
  const { output } = shell
  await withSluice(shell, { options, configFile: 'required' }, async ({ sluice }) => {
    await sluice.sweeps.run(name, whoOf(options))
    const sweep = await sluice.sweeps.get(name)
    if (output.json) return output.record({ sweep })
    output.data(['green', '✓'], ` ${sweepSentence(sweep)}`)
  })
}
