import type { Command } from 'commander'
import type { OperationStatus } from '../../../index.ts'
import { plural } from '../../figures.ts'
import { statusLines, statusRecord } from '../../operation-lines.ts'
import { groupRanges, groupTable, type QuarantineGroup } from '../../quarantine-lines.ts'
import { withSluice, type Session } from '../../session.ts'
import type { CommandAdder, GlobalOptions, Shell } from '../../shell.ts'

const shownGroups = 5

export const addShow: CommandAdder = (parent, shell) => {
  parent
    .command('show <id>')
    .description('where an operation stands, also after its end')
    .action((id: string, _: unknown, command: Command) => show(shell, id, command.optsWithGlobals<GlobalOptions>()))
}

async function show(shell: Shell, id: string, options: GlobalOptions): Promise<void> {
  const { output } = shell
  await withSluice(shell, { options }, async ({ sluice }) => {
    const status = await sluice.operations.get(id)
    const groups = await quarantineOf(sluice, status)
    if (output.json) return output.record({ operation: statusRecord(status), quarantine: groups })
    for (const line of statusLines(status, output.columns)) output.data(...line)
    if (groups.length > 0) tellGroups(shell, status, groups)
  })
}

async function quarantineOf(sluice: Session['sluice'], { id, rowsQuarantined }: OperationStatus) {
  if (rowsQuarantined === 0) return []
  return groupRanges(await sluice.operations.quarantined(id, { limit: 1_000 }))
}

function tellGroups({ output }: Shell, { id }: OperationStatus, groups: readonly QuarantineGroup[]): void {
  output.data()
  for (const line of groupTable(groups.slice(0, shownGroups), output.columns)) output.data(...line)
  const more = groups.length - shownGroups
  output.note(
    `${more > 0 ? `There are ${plural(more, 'more error')}. ` : ''}See each with: sluice ops quarantine ${id}`,
  )
}
