import type { Command } from 'commander'
import { withSluice } from '../../session.ts'
import type { CommandAdder, Shell } from '../../shell.ts'
import { addActor, whoOf, type WhoOptions } from '../../who.ts'

export const addRun: CommandAdder = (parent, shell) => {
  const command = parent
    .command('run <schedule>')
    .description('start what a schedule is for now, beside the clock; also of one that is disabled')
  addActor(command).action((name: string, _: unknown, own: Command) =>
    run(shell, name, own.optsWithGlobals<WhoOptions>()),
  )
}

async function run(shell: Shell, name: string, options: WhoOptions): Promise<void> {
  const { output } = shell
  await withSluice(shell, { options, configFile: 'required' }, async ({ sluice }) => {
    const tick = await sluice.schedules.run(name, whoOf(options))
    if (output.json) return output.record({ tick })
    const [what, show] =
      tick.jobId === null
        ? [`operation ${tick.operationId}`, `sluice ops show ${tick.operationId}`]
        : [`job ${tick.jobId}`, `sluice jobs show ${tick.jobId}`]
    output.data(['green', '✓'], ` ${name} has started ${what}${tick.reason === null ? '' : ` (${tick.reason})`}`)
    output.note(`Workers do the rest. See: ${show}`)
  })
}
