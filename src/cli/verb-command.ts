import type { Command } from 'commander'
import type { OperationStatus } from '../index.ts'
import { sentenceLine, statusRecord } from './operation-lines.ts'
import { withSluice } from './session.ts'
import type { CommandAdder, Shell } from './shell.ts'
import { addWho, whoOf, type WhoOptions } from './who.ts'

/** A command that does one verb to one operation and says where that leaves it. */
export function verbCommand(verb: 'pause' | 'resume' | 'approve' | 'retry', description: string): CommandAdder {
  return (parent, shell) => {
    addWho(parent.command(`${verb} <id>`).description(description)).action(
      async (id: string, _: unknown, command: Command) => {
        const options = command.optsWithGlobals<WhoOptions>()
        await withSluice(shell, { options }, async ({ sluice }) =>
          tellStatus(shell, await sluice.operations[verb](id, whoOf(options))),
        )
      },
    )
  }
}

/** Where a change has left an operation. */
export function tellStatus({ output }: Shell, status: OperationStatus): void {
  if (output.json) output.record({ operation: statusRecord(status) })
  else output.data(...sentenceLine(status))
}
