import type { Command } from 'commander'
import type { Output } from './output.ts'

/** What every command gets from the process that it runs in. */
export interface Shell {
  output: Output
  /** Aborts when a person or the platform asks this process to stop. */
  signal: AbortSignal
  env: NodeJS.ProcessEnv
  folder: string
}

/** The options that every command takes. */
export interface GlobalOptions {
  database?: string
  schema?: string
  config?: string
  envFile?: string
}

/** Adds one command below another. A file in `commands/` is one of these. */
export type CommandAdder = (parent: Command, shell: Shell) => void

/** Declares the options that every command takes. How output looks is read by `main.ts` before all else. */
export function addGlobalOptions(program: Command): void {
  program
    .option('--database <url>', 'connection string of the database; better in DATABASE_URL, which others cannot see')
    .option('--schema <name>', 'schema of the tables of Sluice (default: "sluice")')
    .option('--config <file>', 'configuration file (default: sluice.config.{ts,mts,js,mjs} in this folder)')
    .option('--env-file <file>', 'file with environment variables; those already set win')
    .option('--json', 'answer in JSON')
    .option('--no-color', 'no colours')
    .option('--quiet', 'nothing but the answer')
    .option('--verbose', 'more detail, and stack traces of errors')
}
