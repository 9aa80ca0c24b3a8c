import type { Command } from 'commander'
import { plural } from '../../figures.ts'
import { queueTable } from '../../queues/table.ts'
import { withSluice } from '../../session.ts'
import type { CommandAdder, GlobalOptions, Shell } from '../../shell.ts'

export const addList: CommandAdder = (parent, shell) => {
  parent
    .command('list')
    .description('all queues with what waits in them')
    .action((_: unknown, command: Command) => list(shell, command.optsWithGlobals<GlobalOptions>()))
}

async function list(shell: Shell, options: GlobalOptions): Promise<void> {
  const { output } = shell
  await withSluice(shell, { options }, async ({ sluice }) => {
    const queues = await sluice.queues.list()
    if (output.json) return output.record({ queues })
    if (queues.length === 0) return output.note('There is no queue yet: one is there once a job was enqueued in it.')
    for (const line of queueTable(queues, output.columns)) output.data(...line)
    const parked = queues.reduce((sum, queue) => sum + queue.parked, 0)
    if (parked > 0) output.note(`${plural(parked, 'job')} parked: no running worker knows the name.`)
  })
}
