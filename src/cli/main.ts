#!/usr/bin/env node
/**
 * # The command line
 *
 * Words in, verbs of the public API called, words out. A command is a file in `commands/` that adds itself to its
 * parent; `session.ts` finds configuration and database for it and closes both, whatever happens; `output.ts` is the
 * only way out for text; every error comes here, to be told once and turned into an exit code.
 *
 * @module
 */
import { reportFailure } from './failure.ts'
import { listenForInterrupts } from './interrupt.ts'
import { Output } from './output.ts'
import { createProgram, typed } from './program.ts'

async function main(args: readonly string[]): Promise<void> {
  const { env, stdout, stderr } = process
  const has = (flag: string): boolean => args.includes(flag)
  // Errors of usage come before commander knows the options, and are told in the same manner.
  const look = { json: has('--json'), colour: !has('--no-color'), quiet: has('--quiet'), verbose: has('--verbose') }
  const output = new Output({ stdout, stderr, env, ...look })
  // The reader went away, as `head` does: there is nobody left to tell.
  stdout.on('error', () => process.exit())
  using interrupts = listenForInterrupts()
  const program = await createProgram({ output, signal: interrupts.signal, env, folder: process.cwd() }, args)
  try {
    await program.parseAsync([...args], { from: 'user' })
  } catch (error) {
    // A Ctrl-C reaches child processes too; what breaks because of them is no failure of its own.
    const { aborted, reason } = interrupts.signal
    process.exitCode = reportFailure(aborted ? reason : error, output)
    // A user's handler that ignores its signal must not keep a stopped process alive.
    if (aborted) setTimeout(() => process.exit(), 1_000).unref()
  }
}

await main(typed(process.argv.slice(2)))
