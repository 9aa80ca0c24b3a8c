import type { Command } from 'commander'
import { plural } from '../../figures.ts'
import { scheduleTable } from '../../schedules/table.ts'
import { withSluice } from '../../session.ts'
import type { CommandAdder, GlobalOptions, Shell } from '../../shell.ts'

export const addList: CommandAdder = (parent, shell) => {
  parent
    .command('list')
    .description('all schedules, when they are due, and what stands in their way')
    .action((_: unknown, command: Command) => list(shell, command.optsWithGlobals<GlobalOptions>()))
}

async function list(shell: Shell, options: GlobalOptions): Promise<void> {
  const { output } = shell
  await withSluice(shell, { options }, async ({ sluice }) => {
    const schedules = await sluice.schedules.list()
    if (output.json) return output.record({ schedules })
    if (schedules.length === 0) {
      return output.note('There is no schedule: define one and list it under "schedules" in the configuration.')
    }
    for (const line of scheduleTable(schedules, output.columns)) output.data(...line)
    const parked = schedules.filter((schedule) => schedule.parked).length
    if (parked > 0) output.note(`${plural(parked, 'schedule')} parked: no running worker knows it, so nothing starts.`)
  })
}
