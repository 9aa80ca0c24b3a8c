import { backoffMs } from '../../std/backoff.ts'
import { errorRecord } from '../../std/error-record.ts'
import { sleep } from '../../std/sleep.ts'
import type { Telemetry } from '../../telemetry/telemetry.ts'
import type { StoreConnection } from '../connection.ts'
import type { DatabaseOptions } from '../database.ts'
import { listen } from '../listen.ts'
import { lifeSeconds } from '../pool.ts'

/** How often the connection is asked whether it still listens. */
const checkEveryMs = 10_000

interface Order {
  database: DatabaseOptions
  telemetry: Telemetry
  signal: AbortSignal
  /** Told which connection listens; undefined: none does any more. */
  onOpen: (connection: StoreConnection | undefined) => void
  /** Called with each notification of another session. */
  onHint: (payload: string) => void
  /** How long one connection is used. */
  lifeMs?: number
}

/**
 * Listens for what other processes enqueue. A notification is a hint and no more: polling goes on beside it, so a
 * connection that died without a word costs time and never a job.
 */
export async function listenForJobs(order: Order): Promise<void> {
  const { database, telemetry, signal, onOpen, onHint, lifeMs = lifeSeconds * 1_000 } = order
  for (let failures = 0; !signal.aborted;) {
    try {
      await using connection = await listen({ ...database, purpose: 'listen' }, 'sluice_jobs', onHint)
      onOpen(connection)
      failures = 0
      const over = performance.now() + lifeMs
      while (!signal.aborted && performance.now() < over) {
        await Promise.race([sleep(Math.min(checkEveryMs, lifeMs), signal), connection.broken])
        if (!signal.aborted) await connection.check()
      }
      onOpen(undefined)
    } catch (error) {
      onOpen(undefined)
      failures += 1
      const waitMs = backoffMs(failures, { baseMs: 200, maxMs: 10_000 }, Math.random())
      telemetry.emit('connection.lost', { purpose: 'listen', error: errorRecord(error), attempt: failures, waitMs })
      await sleep(waitMs, signal)
    }
  }
}
