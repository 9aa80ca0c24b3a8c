import type { Command } from 'commander'
import { inboxLines, messageLines } from '../../inbox/lines.ts'
import { withSluice } from '../../session.ts'
import type { CommandAdder, GlobalOptions, Shell } from '../../shell.ts'

export const addShow: CommandAdder = (parent, shell) => {
  parent
    .command('show')
    .argument('<name>', '')
    .argument('[key...]', '')
    .description('one inbox with the messages that wait longest, or the one message of a key')
    .action((name: string, key: string[], _: unknown, command: Command) =>
      show(shell, { name, key }, command.optsWithGlobals<GlobalOptions>()),
    )
}

async function show(
  shell: Shell,
  { name, key }: { name: string; key: readonly string[] },
  options: GlobalOptions,
): Promise<void> {
  const { output } = shell
  await withSluice(shell, { options }, async ({ sluice }) => {
    const inbox = await sluice.inboxes.get(name)
    if (key.length === 0) {
      if (output.json) return output.record({ inbox })
      for (const line of inboxLines(inbox, new Date(), output.columns)) output.data(...line)
      return
    }
    const message = (await sluice.inboxes.find(name, key)) ?? null
    if (output.json) return output.record({ message })
    if (message === null) return output.note(`${name} does not know the key ${key.join(' ')}, or does not any more.`)
    for (const line of messageLines(message, output.columns)) output.data(...line)
  })
}
