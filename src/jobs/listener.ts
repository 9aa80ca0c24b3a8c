import { backoffMs } from '../std/backoff.ts'
import { errorRecord } from '../std/error-record.ts'
import { sleep } from '../std/sleep.ts'
import type { StoreConnection } from '../store/connection.ts'
import type { DatabaseOptions } from '../store/database.ts'
import { listen } from '../store/listen.ts'
import type { Telemetry } from '../telemetry/telemetry.ts'

/** How often the connection is asked whether it still listens. */
const checkEveryMs = 10_000

interface Order {
  database: DatabaseOptions
  telemetry: Telemetry
  signal: AbortSignal
  /** Told which connection listens; undefined: none does any more. */
  onOpen: (connection: StoreConnection | undefined) => void
}

/**
 * Wakes somebody up when other processes enqueue. It is a hint and no more: polling goes on beside it, so a connection
 * that died without a word costs time and never a job.
 */
export async function listenForJobs({ database, telemetry, signal, onOpen }: Order, wake: () => void): Promise<void> {
  for (let failures = 0; !signal.aborted;) {
    try {
      await using connection = await listen({ ...database, purpose: 'listen' }, 'sluice_jobs', wake)
      onOpen(connection)
      // Something may have come while nobody listened.
      wake()
      failures = 0
      while (!signal.aborted) {
        await Promise.race([sleep(checkEveryMs, signal), connection.broken])
        if (!signal.aborted) await connection.check()
      }
    } catch (error) {
      onOpen(undefined)
      failures += 1
      const waitMs = backoffMs(failures, { baseMs: 200, maxMs: 10_000 }, Math.random())
      telemetry.emit('connection.lost', { purpose: 'listen', error: errorRecord(error), attempt: failures, waitMs })
      await sleep(waitMs, signal)
    }
  }
}
