import type { Command } from 'commander'
import { plural } from '../../figures.ts'
import { withSluice } from '../../session.ts'
import type { CommandAdder, Shell } from '../../shell.ts'
import { unfinishedRuns, warnIfUnknown } from '../../unfinished-runs.ts'
import { addActor, whoOf, type WhoOptions } from '../../who.ts'

export const addEnable: CommandAdder = (parent, shell) => {
  const command = parent.command('enable <operation>').description('let a disabled definition run again')
  addActor(command).action((operation: string, _: unknown, own: Command) =>
    enable(shell, operation, own.optsWithGlobals<WhoOptions>()),
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
