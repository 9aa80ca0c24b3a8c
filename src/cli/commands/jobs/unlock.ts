import type { Command } from 'commander'
import { exitCodes } from '../../exit-codes.ts'
import { quoted } from '../../jobs/filter.ts'
import { withSluice } from '../../session.ts'
import type { CommandAdder, Shell } from '../../shell.ts'
import { addWho, whoOf, type WhoOptions } from '../../who.ts'

export const addUnlock: CommandAdder = (parent, shell) => {
  const command = parent
    .command('unlock <name> <key>')
    .description('free a unique key by hand; exits with 1 when it was not taken')
  addWho(command).action((name: string, key: string, _: unknown, own: Command) =>
    unlock(shell, { name, key }, own.optsWithGlobals<WhoOptions>()),
  )
}

async function unlock(shell: Shell, { name, key }: { name: string; key: string }, options: WhoOptions): Promise<void> {
  const { output } = shell
  await withSluice(shell, { options }, async ({ sluice }) => {
    const freed = await sluice.jobs.unlock(name, key, whoOf(options))
    if (!freed) process.exitCode = exitCodes.failed
    if (output.json) return output.record({ name, key, freed })
    if (freed) return output.data(['green', '✓'], ` the key ${key} of ${name} is free`)
    output.note(`${name} has no such key taken. See those that are with: sluice jobs locks --name ${quoted(name)}`)
  })
}
