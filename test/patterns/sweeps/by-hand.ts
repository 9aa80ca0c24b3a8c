import type { SweepDefinition } from '../../../src/index.ts'
import { uuidv7 } from '../../../src/std/uuid.ts'
import { openDatabase } from '../../../src/store/database.ts'
import type { Place } from '../../../src/patterns/sweeps/place.ts'
import { resolveSweptTable } from '../../../src/targets/postgres/swept-table.ts'
import { Telemetry } from '../../../src/telemetry/telemetry.ts'
import type { TestDatabase } from '../../support/database.ts'
import { EventLog } from '../../support/events.ts'

/** A sweep whose steps a test takes one by one, as a worker of its own. */
export interface ByHand extends Place, AsyncDisposable {
  events: EventLog
}

/** With a lease of 0 ms a worker is never sure that its claims are still its own. */
export async function byHand(
  db: TestDatabase,
  definition: SweepDefinition,
  { leaseMs = 60_000 } = {},
): Promise<ByHand> {
  const timeouts = { statementMs: 30_000, lockMs: 20_000, idleInTransactionMs: 60_000 }
  const database = await openDatabase({ url: db.workerUrl, schema: 'sluice', workSize: 2, timeouts })
  const swept = await resolveSweptTable(database.control, definition.names)
  const telemetry = new Telemetry()
  const events = new EventLog()
  telemetry.onAny((event) => events.push(event))
  const { signal } = new AbortController()
  const shift = { workerId: uuidv7(), leaseMs, stopping: signal, ending: signal, trusted: async () => undefined }
  const close = (): Promise<void> => database.close()
  return {
    definition,
    swept,
    database,
    telemetry,
    shift,
    onZero: () => undefined,
    events,
    [Symbol.asyncDispose]: close,
  }
}
