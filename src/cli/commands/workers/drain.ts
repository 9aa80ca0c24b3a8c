import type { Command } from 'commander'
import { withSluice } from '../../session.ts'
import type { CommandAdder } from '../../shell.ts'
import { addWho, whoOf, type WhoOptions } from '../../who.ts'

export const addDrain: CommandAdder = (parent, shell) => {
  const command = parent
    .command('drain <worker>')
    .description('have a worker take no new work, finish what it runs, and end')
  addWho(command).action(async (id: string, _: unknown, own: Command) => {
    const options = own.optsWithGlobals<WhoOptions>()
    const { output } = shell
    await withSluice(shell, { options }, async ({ sluice }) => {
      const asked = await sluice.drain(id, whoOf(options))
      if (output.json) return output.record({ worker: { id, draining: true } })
      output.data(asked ? `${id} will end when what it runs has ended.` : `${id} was asked to end before.`)
    })
  })
}
