import type { Command } from 'commander'
import { openDashboard, type DashboardChoices } from '../dashboard/open.ts'
import { withSluice } from '../session.ts'
import type { CommandAdder, GlobalOptions, Shell } from '../shell.ts'
import { addAddress } from './dashboard.ts'

export const addDev: CommandAdder = (parent, shell) => {
  const command = parent
    .command('dev')
    .description('everything in one process for development: database, schema, worker and dashboard')
  addAddress(command).action((_: unknown, own: Command) =>
    dev(shell, own.optsWithGlobals<GlobalOptions & DashboardChoices>()),
  )
}

async function dev(shell: Shell, options: GlobalOptions & DashboardChoices): Promise<void> {
  const { output } = shell
  await withSluice(shell, { options, configFile: 'required', stops: 'by itself' }, async ({ sluice }) => {
    const { applied, to } = await sluice.migrate()
    if (applied.length > 0) output.note(`The schema is at version ${to}.`)
    sluice.log({ stream: output.stderr, format: output.json ? 'json' : 'text', verbose: output.verbose })
    await sluice.start()
    await openDashboard(shell, sluice, { ...options, environment: 'development' })
  })
}
