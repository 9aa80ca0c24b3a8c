import { userInfo } from 'node:os'
import type { Command } from 'commander'
import type { Who } from '../index.ts'
import type { GlobalOptions } from './shell.ts'

/** Options of every command that changes something. */
export interface WhoOptions extends GlobalOptions {
  reason?: string
  actor?: string
}

/** Adds who does it, for commands that change something. */
export function addActor(command: Command): Command {
  return command.option('--actor <name>', 'who does it, for the record (default: your user name)')
}

/** Adds who does it and why. */
export function addWho(command: Command): Command {
  return addActor(command.option('--reason <text>', 'why, for those who look later'))
}

/** Who does it, and why. */
export function whoOf({ reason, actor = userName() }: WhoOptions): Who {
  return { source: 'cli', ...(reason === undefined ? {} : { reason }), ...(actor === undefined ? {} : { actor }) }
}

function userName(): string | undefined {
  try {
    return userInfo().username
  } catch {
    // In a container the process may run as a number without a name.
    return undefined
  }
}
