import type { Command } from 'commander'
import { printMigrations } from '../../index.ts'
import { exitCodes } from '../exit-codes.ts'
import { plural } from '../figures.ts'
import { schemaOf } from '../schema-name.ts'
import { withSluice, type Session } from '../session.ts'
import type { CommandAdder, GlobalOptions, Shell } from '../shell.ts'
import { wholeNumber } from '../whole-number.ts'

interface MigrateOptions extends GlobalOptions {
  check?: boolean
  sql?: boolean
  from?: number
}

export const addMigrate: CommandAdder = (parent, shell) => {
  parent
    .command('migrate')
    .description('bring the schema in the database to the version of this release')
    .option('--check', 'change nothing; exit with 4 when something is pending')
    .option('--sql', 'print the SQL instead of running it; needs no database')
    .option('--from <version>', 'with --sql: only what comes after this version', wholeNumber(0, 9_999))
    .action((_: unknown, command: Command) => {
      const options = command.optsWithGlobals<MigrateOptions>()
      if (options.from !== undefined && options.sql !== true) command.error('error: --from goes with --sql')
      return migrate(shell, options)
    })
}

async function migrate(shell: Shell, options: MigrateOptions): Promise<void> {
  if (options.sql === true) return printScript(shell, options)
  await withSluice(shell, { options }, ({ sluice }) =>
    options.check === true ? check(shell, sluice) : apply(shell, sluice),
  )
}

async function printScript(shell: Shell, options: MigrateOptions): Promise<void> {
  const script = await printMigrations(await schemaOf(shell, options), options.from ?? 0)
  if (shell.output.json) shell.output.record({ sql: script })
  else shell.output.data(script.trimEnd())
}

async function check({ output }: Shell, sluice: Session['sluice']): Promise<void> {
  const pending = await sluice.pendingMigrations()
  if (pending.length > 0) process.exitCode = exitCodes.checkFailed
  if (output.json) return output.record({ pending })
  for (const name of pending) output.data(name)
  if (pending.length === 0) output.note('The schema is up to date.')
  else output.note(`${plural(pending.length, 'file')} pending. Run "sluice migrate" to apply.`)
}

async function apply({ output }: Shell, sluice: Session['sluice']): Promise<void> {
  const result = await sluice.migrate()
  if (output.json) return output.record({ ...result })
  for (const name of result.applied) output.data(name)
  if (result.applied.length === 0) output.note(`The schema is up to date, at version ${result.to}.`)
  else
    output.note(
      ['green', '✓'],
      ` ${plural(result.applied.length, 'file')} applied; the schema is at version ${result.to}.`,
    )
}
