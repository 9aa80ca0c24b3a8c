import { CommanderError } from 'commander'
import { redact } from '../index.ts'
import { Unconfirmed } from './confirm.ts'
import { exitCodes, outcomeOf, type Outcome } from './exit-codes.ts'
import { Interrupted } from './interrupt.ts'
import type { Output } from './output.ts'

interface Failure {
  code: string
  message: string
  exitCode: number
  /** What people see has been written already. */
  told?: boolean
}

/** Tells of whatever ended a command, and gives the exit code for it. */
export function reportFailure(thrown: unknown, output: Output): number {
  if (thrown instanceof CommanderError && thrown.exitCode === 0) return exitCodes.done
  const { code, message, exitCode, told = false } = failureOf(thrown)
  if (output.json) output.record({ error: { code, message: redact(message) } })
  else if (thrown instanceof Interrupted) output.note(message)
  else if (!told) output.error(message, code === 'FAILED' ? undefined : code)
  if (output.verbose && thrown instanceof Error && !told) output.note(['dim', stackOf(thrown)])
  return exitCode
}

/** Any thrown value as what a person and a script need to know of it. */
export function failureOf(thrown: unknown): Failure {
  if (thrown instanceof Interrupted) return { code: 'INTERRUPTED', message: thrown.message, exitCode: thrown.exitCode }
  if (thrown instanceof CommanderError) {
    return { code: 'USAGE', message: thrown.message.replace(/^error: /, ''), exitCode: exitCodes.usage, told: true }
  }
  if (thrown instanceof Unconfirmed) {
    return { code: 'UNCONFIRMED', message: thrown.message, exitCode: exitCodes.unconfirmed }
  }
  const message = thrown instanceof Error ? thrown.message || thrown.name : String(thrown)
  if (isSluiceError(thrown)) return { code: thrown.code, message, exitCode: exitCodes[outcomeFor(thrown.code)] }
  return { code: 'FAILED', message, exitCode: exitCodes.failed }
}

/** By name, not by class: a plug-in of the configuration may have brought another copy of Sluice. */
function isSluiceError(thrown: unknown): thrown is Error & { code: string } {
  return thrown instanceof Error && thrown.name === 'SluiceError' && 'code' in thrown && typeof thrown.code === 'string'
}

function outcomeFor(code: string): Outcome {
  // That copy may know errors that this one does not.
  return new Map<string, Outcome>(Object.entries(outcomeOf)).get(code) ?? 'failed'
}

function stackOf(error: Error): string {
  const own = error.stack ?? error.message
  return error.cause instanceof Error ? `${own}\ncaused by ${stackOf(error.cause)}` : own
}
