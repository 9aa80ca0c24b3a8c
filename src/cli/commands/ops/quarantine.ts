import type { Command } from 'commander'
import { quarantineText, rangeRecord, rangeTable } from '../../quarantine-lines.ts'
import { withSluice } from '../../session.ts'
import type { CommandAdder, GlobalOptions, Shell } from '../../shell.ts'
import { wholeNumber } from '../../whole-number.ts'

interface QuarantineOptions extends GlobalOptions {
  limit: number
}

export const addQuarantine: CommandAdder = (parent, shell) => {
  parent
    .command('quarantine <id>')
    .description('the rows of an operation that could not be processed, with their errors')
    .option('--limit <n>', 'how many ranges at most', wholeNumber(1, 10_000), 100)
    .action((id: string, _: unknown, command: Command) =>
      quarantine(shell, id, command.optsWithGlobals<QuarantineOptions>()),
    )
}

async function quarantine(shell: Shell, id: string, options: QuarantineOptions): Promise<void> {
  const { output } = shell
  const { limit } = options
  await withSluice(shell, { options }, async ({ sluice }) => {
    const { name, asOf } = await sluice.operations.get(id)
    const ranges = await sluice.operations.quarantined(id, { limit })
    if (output.json) return output.record({ ranges: ranges.map(rangeRecord) })
    if (ranges.length === 0) return output.note(`Nothing of ${name} is quarantined.`)
    for (const line of rangeTable(ranges, asOf, output.columns)) output.data(...line)
    if (ranges.length === limit) output.note(`Only the first ${limit} ranges are shown; see more with --limit.`)
    else output.note(`${quarantineText(ranges)}. Once the cause is gone, take them up again with:`)
    if (ranges.length < limit) output.note(`  sluice ops retry ${id}`)
  })
}
