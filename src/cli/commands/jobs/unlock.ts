import type { Command } from 'commander'
import { exitCodes } from '../../exit-codes.ts'
import { quoted } from '../../jobs/filter.ts'
import { withSluice } from '../../session.ts'
import type { CommandAdder, GlobalOptions, Shell } from '../../shell.ts'

export const addUnlock: CommandAdder = (parent, shell) => {
  parent
    .command('unlock <name> <key>')
    .description('free a unique key by hand; exits with 1 when it was not taken')
    .action((name: string, key: string, _: unknown, command: Command) =>
      unlock(shell, { name, key }, command.optsWithGlobals<GlobalOptions>()),
    )
}

async function unlock(
  shell: Shell,
  { name, key }: { name: string; key: string },
  options: GlobalOptions,
): Promise<void> {
  const { output } = shell
  await withSluice(shell, { options }, async ({ sluice }) => {
    const freed = await sluice.jobs.unlock(name, key)
    if (!freed) process.exitCode = exitCodes.failed
    if (output.json) return output.record({ name, key, freed })
    if (freed) return output.data(['green', '✓'], ` the key ${key} of ${name} is free`)
    output.note(`${name} has no such key taken. See those that are with: sluice jobs locks --name ${quoted(name)}`)
  })
}
