import type { Command } from 'commander'
import { addFilter, queryOf, type FilterOptions } from '../../audit/filter.ts'
import { auditTable } from '../../audit/table.ts'
import { withSluice } from '../../session.ts'
import type { CommandAdder, Shell } from '../../shell.ts'
import { wholeNumber } from '../../whole-number.ts'

interface ListOptions extends FilterOptions {
  limit: number
  before?: number
}

export const addList: CommandAdder = (parent, shell) => {
  addFilter(parent.command('list').description('what people have changed, latest first, a page at a time'))
    .option('--limit <n>', 'how many at most', wholeNumber(1, 1_000), 50)
    .option('--before <id>', 'only those before this one, for the next page', wholeNumber(1, Number.MAX_SAFE_INTEGER))
    .action((_: unknown, command: Command) => list(shell, command.optsWithGlobals<ListOptions>()))
}

async function list(shell: Shell, options: ListOptions): Promise<void> {
  const { output } = shell
  const { limit, before = null } = options
  await withSluice(shell, { options }, async ({ sluice }) => {
    const { acts, next } = await sluice.audit.list({ ...queryOf(options), limit, before })
    if (output.json) return output.record({ acts, next })
    if (acts.length === 0) return output.note('Nothing was changed by anybody that fits these options.')
    for (const line of auditTable(acts, output.columns)) output.data(...line)
    if (next !== null) output.note(`There are more: add --before ${next} for the next page.`)
  })
}
