import type { OperationStatus, Sluice } from '../index.ts'
import { exitCodes } from './exit-codes.ts'
import { follow } from './follow.ts'
import { sentenceLine, statusRecord } from './operation-lines.ts'
import { progressView } from './progress-view.ts'
import type { Shell } from './shell.ts'
import { endedWell } from './state-words.ts'

/** Shows how an operation goes, then tells how it ended. */
export async function followToEnd({ output, signal }: Shell, sluice: Sluice, id: string): Promise<void> {
  const status = await follow(sluice, id, { view: progressView(output), signal })
  if (output.json) output.record({ operation: statusRecord(status) })
  tellEnd(output, status)
}

/** How an operation ended: a line for people, and the exit code for scripts, for which only a good end is a success. */
export function tellEnd(output: Shell['output'], status: OperationStatus): void {
  if (!endedWell(status)) process.exitCode = exitCodes.failed
  if (!output.json) output.data(...sentenceLine(status))
}
