import type { Command } from 'commander'
import { runDemo } from '../demo/run.ts'
import type { CommandAdder, GlobalOptions } from '../shell.ts'
import { wholeNumber } from '../whole-number.ts'

interface DemoOptions extends GlobalOptions {
  rows: number
  port?: number
  keep?: boolean
}

export const addDemo: CommandAdder = (parent, shell) => {
  parent
    .command('demo')
    .description('see it work: deletes aged rows from a throw-away database, and kills a worker half way')
    .option('--rows <n>', 'rows of the demo table', wholeNumber(1_000, 100_000_000), 500_000)
    .option('--port <port>', 'port of the throw-away PostgreSQL (default: a free one)', wholeNumber(1, 65_535))
    .option('--keep', 'leave the database running afterwards, to look around in it')
    .action(async (_: unknown, command: Command) => {
      const { rows, port, keep = false } = command.optsWithGlobals<DemoOptions>()
      await runDemo(shell, { rows, port, keep })
    })
}
