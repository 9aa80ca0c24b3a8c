import type { Command } from 'commander'
import { plural } from '../../figures.ts'
import { withSluice } from '../../session.ts'
import type { CommandAdder, Shell } from '../../shell.ts'
import { addWho, whoOf, type WhoOptions } from '../../who.ts'

export const addRun: CommandAdder = (parent, shell) => {
  const command = parent
    .command('run <reconciler>')
    .description('look for forgotten records now, and enqueue their jobs')
  addWho(command).action((name: string, _: unknown, own: Command) =>
    run(shell, name, own.optsWithGlobals<WhoOptions>()),
  )
}

async function run(shell: Shell, name: string, options: WhoOptions): Promise<void> {
  const { output } = shell
  await withSluice(shell, { options, configFile: 'required' }, async ({ sluice }) => {
    const { found, enqueued, duplicates, refused, error } = await sluice.reconcilers.run(name, whoOf(options))
    if (output.json) return output.record({ name, found, enqueued, duplicates, refused, error })
    output.data(
      ['green', '✓'],
      ` ${name}: ${plural(found, 'record')} found, ${plural(enqueued, 'job')} enqueued, ${plural(duplicates, 'was', 'were')} there already`,
    )
    if (refused > 0) output.warn(`${plural(refused, 'record has', 'records have')} no job: ${error?.message ?? ''}`)
  })
}
