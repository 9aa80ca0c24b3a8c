import type { Command } from 'commander'
import { tellEnd, tellLeft } from '../../follow-to-end.ts'
import { follow } from '../../follow.ts'
import type { OperationStatus } from '../../../index.ts'
import { statusRecord } from '../../operation-lines.ts'
import { progressView } from '../../progress-view.ts'
import { withSluice } from '../../session.ts'
import type { CommandAdder, Shell } from '../../shell.ts'
import { addWho, whoOf, type WhoOptions } from '../../who.ts'

export const addFinalize: CommandAdder = (parent, shell) => {
  const command = parent
    .command('finalize <id>')
    .description(
      'drive an operation to its end now, with a worker in this process; exits with 1 when it did not finish',
    )
  addWho(command).action((id: string, _: unknown, own: Command) =>
    finalize(shell, id, own.optsWithGlobals<WhoOptions>()),
  )
}

async function finalize(shell: Shell, id: string, options: WhoOptions): Promise<void> {
  const { output, signal } = shell
  const needs = { options, configFile: 'required', stops: 'by itself' } as const
  await withSluice(shell, needs, async ({ sluice }) => {
    const ended = new AbortController()
    const driven = sluice.operations.finalize(id, { ...whoOf(options), signal }).finally(() => ended.abort())
    const until = AbortSignal.any([signal, ended.signal])
    // Whoever drives it says how it ended, and has given back its batches by then; the view only follows.
    let last: OperationStatus | undefined
    const onStatus = (status: OperationStatus): void => void (last = status)
    const following = follow(sluice, id, { view: progressView(output), signal: until, onStatus })
    const [end] = await Promise.allSettled([driven, following])
    if (signal.aborted && last !== undefined) tellLeft(output, last)
    signal.throwIfAborted()
    if (end.status === 'rejected') throw end.reason
    if (output.json) output.record({ operation: statusRecord(end.value) })
    tellEnd(output, end.value)
  })
}
