import type { Database } from '../store/database.ts'
import { holdClosed } from '../store/lifecycle.ts'
import type { OperationRow } from '../store/operations.ts'
import type { Telemetry } from '../telemetry/telemetry.ts'
import { closedReason, defineWindow, isOpen, nextOpening, type Window } from '../runtime/window.ts'
import type { OperationDefinition } from './definition.ts'

/** A window that does not open within a year is looked at again after a day: what its days depend on may change. */
const lookAgainMs = 86_400_000

/** The window of an operation: its hours are stored with it, the days that are excepted are for the code to say. */
function windowOf({ window }: Pick<OperationDefinition, 'window'>, text: string): Window {
  return { ...defineWindow(text), except: window?.except }
}

/** Whether an operation of a definition, with this stored window, may work at that moment. */
export function isOpenFor(definition: Pick<OperationDefinition, 'window'>, text: string | null, now: Date): boolean {
  return text === null || isOpen(windowOf(definition, text), now)
}

/** Puts an operation on hold until its window opens, and says so. */
export async function holdOutside(
  operation: Pick<OperationRow, 'id' | 'name' | 'run_window'> & { as_of: Date },
  definition: Pick<OperationDefinition, 'window'>,
  { database, telemetry }: { database: Database; telemetry: Telemetry },
): Promise<void> {
  const { id, name, run_window: text, as_of: now } = operation
  if (text === null) return
  const window = windowOf(definition, text)
  const reason = closedReason(window, now)
  const until = nextOpening(window, now) ?? new Date(now.getTime() + lookAgainMs)
  const [held] = await holdClosed(database.control, { id, window: text, reason, until })
  if (held !== undefined) telemetry.emit('operation.held', { operationId: id, name, reason, until })
}
