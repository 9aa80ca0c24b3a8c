import { prepareConfig } from './session.ts'
import type { GlobalOptions, Shell } from './shell.ts'

/** The schema that was asked for, for commands that print SQL without a connection. */
export async function schemaOf(shell: Shell, options: GlobalOptions): Promise<string> {
  const { config } = await prepareConfig(shell, options)
  return options.schema ?? config.schema ?? 'sluice'
}
