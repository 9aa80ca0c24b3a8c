import { setTimeout as sleep } from 'node:timers/promises'
import type { OperationStatus, Sluice } from '../index.ts'
import { remember, type Sample } from './pace.ts'
import type { ProgressView } from './progress-view.ts'
import { isOver } from './state-words.ts'

/** How an operation is followed. */
export interface Following {
  view: ProgressView
  signal: AbortSignal
  /** Sees each status, before it is shown. */
  onStatus?: (status: OperationStatus) => void
}

/** About five times a second: fluent to the eye and no load to speak of. */
const everyMs = 200

/** Shows the progress of an operation until it has ended, and gives its last status. */
export async function follow(
  sluice: Sluice,
  id: string,
  { view, signal, onStatus }: Following,
): Promise<OperationStatus> {
  let history: readonly Sample[] = []
  try {
    for (;;) {
      const status = await sluice.operations.get(id)
      // Whoever has left is not shown any more.
      signal.throwIfAborted()
      history = remember(history, status)
      onStatus?.(status)
      view.update(status, history)
      if (isOver(status)) return status
      await sleep(everyMs, undefined, { signal })
    }
  } finally {
    view.end()
  }
}
