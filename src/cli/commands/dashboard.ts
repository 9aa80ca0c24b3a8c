import type { Command } from 'commander'
import { openDashboard, type DashboardChoices } from '../dashboard/open.ts'
import { withSluice } from '../session.ts'
import type { CommandAdder, GlobalOptions } from '../shell.ts'
import { wholeNumber } from '../whole-number.ts'

/** Options of every command that shows the dashboard. */
export function addAddress(command: Command): Command {
  return command
    .option('--port <port>', 'port of the dashboard; 0: any that is free', wholeNumber(0, 65_535), 4040)
    .option('--host <address>', 'address to listen on; only this machine without more ado', '127.0.0.1')
}

export const addDashboard: CommandAdder = (parent, shell) => {
  const command = parent
    .command('dashboard')
    .description('watch operations and jobs in the browser, and stop them')
    .option('--read-only', 'show, and change nothing')
    .option('--environment <name>', 'shown on every page, such as staging (default: NODE_ENV)')
  addAddress(command).action(async (_: unknown, own: Command) => {
    const options = own.optsWithGlobals<GlobalOptions & DashboardChoices>()
    await withSluice(shell, { options, stops: 'by itself' }, ({ sluice }) => openDashboard(shell, sluice, options))
  })
}
