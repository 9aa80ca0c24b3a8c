import type { Command } from 'commander'
import { tellSchedule } from '../../schedules/change.ts'
import { withSluice } from '../../session.ts'
import type { CommandAdder } from '../../shell.ts'
import { addWho, whoOf, type WhoOptions } from '../../who.ts'

export const addDisable: CommandAdder = (parent, shell) => {
  const command = parent
    .command('disable <schedule>')
    .description('let no tick of a schedule start anything until it is enabled; runs go on')
  addWho(command).action(async (name: string, _: unknown, own: Command) => {
    const options = own.optsWithGlobals<WhoOptions>()
    await withSluice(shell, { options }, async ({ sluice }) => {
      tellSchedule(shell, await sluice.schedules.disable(name, whoOf(options)))
    })
  })
}
