import type { Command } from 'commander'
import { tellSchedule } from '../../schedules/change.ts'
import { withSluice } from '../../session.ts'
import type { CommandAdder } from '../../shell.ts'
import { addActor, whoOf, type WhoOptions } from '../../who.ts'

export const addEnable: CommandAdder = (parent, shell) => {
  const command = parent.command('enable <schedule>').description('let a schedule go on with its next tick')
  addActor(command).action(async (name: string, _: unknown, own: Command) => {
    const options = own.optsWithGlobals<WhoOptions>()
    await withSluice(shell, { options }, async ({ sluice }) => {
      tellSchedule(shell, await sluice.schedules.enable(name, whoOf(options)))
    })
  })
}
