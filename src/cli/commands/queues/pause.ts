import type { Command } from 'commander'
import { tellQueue } from '../../queues/change.ts'
import { withSluice } from '../../session.ts'
import type { CommandAdder } from '../../shell.ts'
import { addWho, whoOf, type WhoOptions } from '../../who.ts'

export const addPause: CommandAdder = (parent, shell) => {
  const command = parent
    .command('pause <queue>')
    .description('let no job of a queue start until it is resumed; those that run go on')
  addWho(command).action(async (name: string, _: unknown, own: Command) => {
    const options = own.optsWithGlobals<WhoOptions>()
    await withSluice(shell, { options }, async ({ sluice }) => {
      await sluice.queues.pause(name, whoOf(options))
      await tellQueue(shell, sluice, name)
    })
  })
}
