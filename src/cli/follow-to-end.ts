import type { OperationStatus, Sluice } from '../index.ts'
import { exitCodes } from './exit-codes.ts'
import { follow } from './follow.ts'
import { interruptible } from './interrupt.ts'
import { sentenceLine, statusRecord } from './operation-lines.ts'
import { progressView, type ProgressView } from './progress-view.ts'
import type { Shell } from './shell.ts'
import { endedWell, isStopped } from './state-words.ts'
import { warnOfNobody } from './nobody.ts'

/** Shows how an operation goes, then tells how it ended. */
export async function followToEnd(shell: Shell, sluice: Sluice, id: string): Promise<void> {
  const { output } = shell
  const status = await followUnlessLeft(shell, sluice, { id, view: progressView(output) })
  if (output.json) output.record({ operation: statusRecord(status) })
  tellEnd(output, status)
}

/** Shows how an operation goes until it has ended. Whoever leaves with Ctrl-C hears that only the watching has ended. */
export async function followUnlessLeft(
  { output, signal }: Shell,
  sluice: Sluice,
  { id, view }: { id: string; view: ProgressView },
): Promise<OperationStatus> {
  const first = await sluice.operations.get(id)
  await warnOfNobody(output, sluice, first)
  let last = first
  const onStatus = (status: OperationStatus): void => void (last = status)
  try {
    return await interruptible(signal, () => follow(sluice, id, { view, signal, onStatus }))
  } catch (error) {
    if (signal.aborted) {
      view.end()
      // The terminal has just written "^C".
      if (output.live) output.stderr.write('\n')
      tellLeft(output, last)
    }
    throw error
  }
}

/** What becomes of an operation that nobody watches any more. */
export function tellLeft(output: Shell['output'], status: OperationStatus): void {
  const { id, name } = status
  output.note(isStopped(status) ? `${name} is not over.` : `${name} goes on without this command.`)
  output.note(`  watch it:  sluice ops watch ${id}`)
  output.note(`  stop it:   sluice ops pause ${id}`)
}

/** How an operation ended: a line for people, and the exit code for scripts, for which only a good end is a success. */
export function tellEnd(output: Shell['output'], status: OperationStatus): void {
  if (!endedWell(status)) process.exitCode = exitCodes.failed
  if (!output.json) output.data(...sentenceLine(status))
}
