import type { Command } from 'commander'
import { statusRecord } from '../../operation-lines.ts'
import { operationTable } from '../../operation-table.ts'
import { standstillLine } from '../../standstill.ts'
import { withSluice } from '../../session.ts'
import type { CommandAdder, GlobalOptions, Shell } from '../../shell.ts'
import { wholeNumber } from '../../whole-number.ts'

interface ListOptions extends GlobalOptions {
  name?: string
  tenant?: string
  limit: number
}

export const addList: CommandAdder = (parent, shell) => {
  parent
    .command('list')
    .description('operations that are not over, oldest first, then those that are, latest first')
    .option('--name <name>', 'only those of this definition')
    .option('--tenant <tenant>', 'only those of this customer')
    .option('--limit <n>', 'how many at most', wholeNumber(1, 1_000), 100)
    .action((_: unknown, command: Command) => list(shell, command.optsWithGlobals<ListOptions>()))
}

async function list(shell: Shell, options: ListOptions): Promise<void> {
  const { output } = shell
  const { name, tenant, limit } = options
  const filter = { ...(name === undefined ? {} : { name }), ...(tenant === undefined ? {} : { tenant }) }
  await withSluice(shell, { options }, async ({ sluice }) => {
    const [operations, standstill] = await Promise.all([
      sluice.operations.list({ ...filter, limit }),
      sluice.operations.standstill(),
    ])
    if (output.json) return output.record({ operations: operations.map(statusRecord), standstill: standstill ?? null })
    if (standstill !== undefined) output.data(...standstillLine(standstill, operations[0]?.asOf ?? new Date()))
    if (operations.length === 0) return output.note(emptyText(filter))
    for (const line of operationTable(operations, output.columns)) output.data(...line)
    if (operations.length === limit) output.note(`Only the first ${limit} are shown; see more with --limit.`)
  })
}

function emptyText({ name, tenant }: { name?: string; tenant?: string }): string {
  const which = [...(name === undefined ? [] : [` of ${name}`]), ...(tenant === undefined ? [] : [` for ${tenant}`])]
  return `There is no operation${which.join('')}. Start one with: sluice ops start <operation>`
}
