import { sleep } from '../std/sleep.ts'
import type { StoreConnection } from '../store/connection.ts'
import { writeWal } from '../store/wal.ts'

/** What is shorter has written little; in the time of this, a session that is alone writes a megabyte or two. */
const everyMs = 10

/**
 * Has the log of a long transaction written while it is at work, so that its commit waits for the last of it only. The
 * server does so by itself for who writes for seconds; a sub-batch would write all of its log at its end, and wait.
 */
export async function writingBehind<T>(connection: StoreConnection, work: () => Promise<T>): Promise<T> {
  const over = new AbortController()
  void keepWriting(connection, over.signal)
  try {
    return await work()
  } finally {
    over.abort()
  }
}

async function keepWriting(connection: StoreConnection, signal: AbortSignal): Promise<void> {
  try {
    for (await sleep(everyMs, signal); !signal.aborted; await sleep(everyMs, signal)) await writeWal(connection)
  } catch {
    // Not needed: the commit writes what is not written yet.
  }
}
