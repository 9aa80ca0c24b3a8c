import type { Command } from 'commander'
import { plural } from '../../figures.ts'
import { withSluice } from '../../session.ts'
import type { CommandAdder, Shell } from '../../shell.ts'
import { checkChoice, disableAll, type AllOptions } from '../../standstill.ts'
import { unfinishedRuns, warnIfUnknown } from '../../unfinished-runs.ts'
import { addWho, whoOf, type WhoOptions } from '../../who.ts'

export const addDisable: CommandAdder = (parent, shell) => {
  const command = parent
    .command('disable [operation]')
    .description('the kill switch: stop every run of a definition, also those started later, until it is enabled')
  addWho(command.option('--all', 'all operations of the database')).action(
    async (operation: string | undefined, _: unknown, own: Command) => {
      const options = own.optsWithGlobals<AllOptions>()
      checkChoice(own, operation, options)
      await (operation === undefined ? disableAll(shell, options) : disable(shell, operation, options))
    },
  )
}

async function disable(shell: Shell, name: string, options: WhoOptions): Promise<void> {
  const { output } = shell
  await withSluice(shell, { options }, async (session) => {
    await session.sluice.operations.disable(name, whoOf(options))
    const unfinished = await unfinishedRuns(session.sluice, name)
    if (output.json) return output.record({ name, disabled: true, unfinished })
    warnIfUnknown(output, session, { name, unfinished })
    const runs = unfinished === 0 ? 'no run is unfinished' : `${plural(unfinished, 'unfinished run')} stopped`
    output.data(['yellow', '!'], ` ${name} is disabled: ${runs}`)
    output.note(`Nothing of it runs until: sluice ops enable ${name}`)
  })
}
