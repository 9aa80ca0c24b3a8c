import type { Command } from 'commander'
import { plural } from '../../figures.ts'
import { withSluice } from '../../session.ts'
import type { CommandAdder, GlobalOptions, Shell } from '../../shell.ts'

export const addRun: CommandAdder = (parent, shell) => {
  parent
    .command('run <reconciler>')
    .description('look for forgotten records now, and enqueue their jobs')
    .action((name: string, _: unknown, command: Command) => run(shell, name, command.optsWithGlobals<GlobalOptions>()))
}

async function run(shell: Shell, name: string, options: GlobalOptions): Promise<void> {
  const { output } = shell
  await withSluice(shell, { options, configFile: 'required' }, async ({ sluice }) => {
    const { found, enqueued, duplicates, refused, error } = await sluice.reconcilers.run(name)
    if (output.json) return output.record({ name, found, enqueued, duplicates, refused, error })
    output.data(
      ['green', '✓'],
      ` ${name}: ${plural(found, 'record')} found, ${plural(enqueued, 'job')} enqueued, ${plural(duplicates, 'was', 'were')} there already`,
    )
    if (refused > 0) output.warn(`${plural(refused, 'record has', 'records have')} no job: ${error?.message ?? ''}`)
  })
}
