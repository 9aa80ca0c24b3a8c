import type { Command } from 'commander'
import { grantsScript } from '../../index.ts'
import { schemaOf } from '../schema-name.ts'
import type { CommandAdder, GlobalOptions, Shell } from '../shell.ts'

export const addGrants: CommandAdder = (parent, shell) => {
  parent
    .command('grants')
    .description('print the SQL that makes narrow roles for workers and services; needs no database')
    .action((_: unknown, command: Command) => grants(shell, command.optsWithGlobals<GlobalOptions>()))
}

async function grants(shell: Shell, options: GlobalOptions): Promise<void> {
  const script = grantsScript(await schemaOf(shell, options))
  if (shell.output.json) shell.output.record({ sql: script })
  else shell.output.data(script.trimEnd())
}
