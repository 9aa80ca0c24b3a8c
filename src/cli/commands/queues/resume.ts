import type { Command } from 'commander'
import { tellQueue } from '../../queues/change.ts'
import { withSluice } from '../../session.ts'
import type { CommandAdder } from '../../shell.ts'
import { addWho, whoOf, type WhoOptions } from '../../who.ts'

export const addResume: CommandAdder = (parent, shell) => {
  const command = parent.command('resume <queue>').description('let jobs of a paused queue start again')
  addWho(command).action(async (name: string, _: unknown, own: Command) => {
    const options = own.optsWithGlobals<WhoOptions>()
    await withSluice(shell, { options }, async ({ sluice }) => {
      await sluice.queues.resume(name, whoOf(options))
      await tellQueue(shell, sluice, name)
    })
  })
}
