import { Option, type Command } from 'commander'
import type { AuditQuery } from '../../index.ts'
import { parseMoment } from '../moment-option.ts'
import type { GlobalOptions } from '../shell.ts'

/** Options that say which acts. */
export interface FilterOptions extends GlobalOptions, AuditQuery {}

const sources: NonNullable<AuditQuery['source']>[] = ['api', 'cli', 'dashboard', 'schedule']

/** Adds the options that say which acts. */
export function addFilter(command: Command): Command {
  return command
    .option('--actor <name>', 'only what this person did')
    .addOption(new Option('--source <source>', 'only what came from there').choices(sources))
    .option('--action <action>', 'only such acts: operation.pause, or all of a kind: operation')
    .option('--target <id>', 'only what was done to this: the id or name of an operation, job, queue or schedule')
    .option('--since <time>', 'only from then on, such as 2026-01-31T09:00:00Z', parseMoment)
    .option('--until <time>', 'only before then', parseMoment)
}

/** The options as a query. */
export function queryOf({ actor, source, action, target, since, until }: FilterOptions): AuditQuery {
  const given = Object.entries({ actor, source, action, target, since, until }).filter(
    ([, value]) => value !== undefined,
  )
  return Object.fromEntries(given)
}
