import type { Command } from 'commander'
import { runDemo } from '../demo/run.ts'
import type { CommandAdder, GlobalOptions } from '../shell.ts'
import { wholeNumber } from '../whole-number.ts'

interface DemoOptions extends GlobalOptions {
  rows: number
  port?: number
  keep?: boolean
  dashboardPort: number
}

export const addDemo: CommandAdder = (parent, shell) => {
  parent
    .command('demo')
    .description('see it work: deletes aged rows from a throw-away database, and kills a worker half way')
    .option('--rows <n>', 'rows of the demo table', wholeNumber(1_000, 100_000_000), 500_000)
    .option('--port <port>', 'port of the throw-away PostgreSQL (default: a free one)', wholeNumber(1, 65_535))
    .option('--keep', 'work on afterwards with the dashboard open, and leave the database running')
    .option('--dashboard-port <port>', 'port of the dashboard with --keep', wholeNumber(1, 65_535), 4040)
    .action(async (_: unknown, command: Command) => {
      const { rows, port, keep = false, dashboardPort } = command.optsWithGlobals<DemoOptions>()
      await runDemo(shell, { rows, port, keep, dashboardPort })
    })
}
