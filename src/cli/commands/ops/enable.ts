import type { Command } from 'commander'
import { plural } from '../../figures.ts'
import { withSluice } from '../../session.ts'
import type { CommandAdder, Shell } from '../../shell.ts'
import { checkChoice, enableAll, type AllOptions } from '../../standstill.ts'
import { unfinishedRuns, warnIfUnknown } from '../../unfinished-runs.ts'
import { addActor, whoOf, type WhoOptions } from '../../who.ts'

export const addEnable: CommandAdder = (parent, shell) => {
  const command = parent.command('enable [operation]').description('let a disabled definition run again')
  addActor(command.option('--all', 'all operations of the database')).action(
    async (operation: string | undefined, _: unknown, own: Command) => {
      const options = own.optsWithGlobals<AllOptions>()
      checkChoice(own, operation, options)
      await (operation === undefined ? enableAll(shell, options) : enable(shell, operation, options))
    },
  )
}

async function enable(shell: Shell, name: string, options: WhoOptions): Promise<void> {
  const { output } = shell
  await withSluice(shell, { options }, async (session) => {
    await session.sluice.operations.enable(name, whoOf(options))
    const unfinished = await unfinishedRuns(session.sluice, name)
    if (output.json) return output.record({ name, disabled: false, unfinished })
    warnIfUnknown(output, session, { name, unfinished })
    const runs = unfinished === 0 ? 'no run is unfinished' : `${plural(unfinished, 'unfinished run')} may go on`
    output.data(['green', '✓'], ` ${name} is enabled: ${runs}`)
  })
}
