import type { Command } from 'commander'
import { lockRecord, lockTable } from '../../jobs/locks.ts'
import { withSluice } from '../../session.ts'
import type { CommandAdder, GlobalOptions, Shell } from '../../shell.ts'
import { wholeNumber } from '../../whole-number.ts'

interface LocksOptions extends GlobalOptions {
  name?: string
  limit: number
}

export const addLocks: CommandAdder = (parent, shell) => {
  parent
    .command('locks')
    .description('unique keys that are taken, and by which job, latest first')
    .option('--name <name>', 'only those of this definition')
    .option('--limit <n>', 'how many at most', wholeNumber(1, 1_000), 100)
    .action((_: unknown, command: Command) => locks(shell, command.optsWithGlobals<LocksOptions>()))
}

async function locks(shell: Shell, options: LocksOptions): Promise<void> {
  const { output } = shell
  const { name, limit } = options
  await withSluice(shell, { options }, async ({ sluice }) => {
    const found = await sluice.jobs.locks({ ...(name === undefined ? {} : { name }), limit })
    if (output.json) return output.record({ locks: found.map(lockRecord) })
    if (found.length === 0) return output.note(`No unique key${name === undefined ? '' : ` of ${name}`} is taken.`)
    for (const line of lockTable(found, new Date(), output.columns)) output.data(...line)
    if (found.length === limit) output.note(`Only the first ${limit} are shown; see more with --limit.`)
  })
}
