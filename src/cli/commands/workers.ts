import type { Command } from 'commander'
import { withSluice } from '../session.ts'
import type { CommandAdder, GlobalOptions, Shell } from '../shell.ts'
import { addDrain } from './workers/drain.ts'
import { workerRecord, workerTable } from '../worker-table.ts'

export const addWorkers: CommandAdder = (parent, shell) => {
  const workers = parent.command('workers').description('see who works, and have one end').helpCommand(false)
  workers
    .command('list')
    .description('the workers that are there, with what they know and what they hold')
    .action((_: unknown, command: Command) => list(shell, command.optsWithGlobals<GlobalOptions>()))
  addDrain(workers, shell)
}

async function list(shell: Shell, options: GlobalOptions): Promise<void> {
  const { output } = shell
  await withSluice(shell, { options }, async ({ sluice }) => {
    const workers = await sluice.workers()
    if (output.json) return output.record({ workers: workers.map(workerRecord) })
    if (workers.length === 0) return output.note('No worker is running. Start one with: sluice worker')
    for (const line of workerTable(workers, output.columns)) output.data(...line)
    const versions = new Set(workers.map(({ version }) => version))
    if (versions.size > 1) output.warn(`the workers have different versions: ${[...versions].join(', ')}`)
  })
}
