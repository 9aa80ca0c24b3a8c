import { extname } from 'node:path'
import { MessageChannel, Worker, type MessagePort } from 'node:worker_threads'
import type { Claim } from '../store/batches.ts'
import type { DatabaseOptions } from '../store/database.ts'
import type { WorkerRow } from '../store/workers.ts'

/** How long a lease is; all else follows from it. */
export interface LeaseTimes {
  leaseMs: number
  /** Claims whose work makes no progress for so long are not extended any more. */
  noProgressMs: number
}

/** What the renewing thread is told first. */
export interface RenewalOrder extends LeaseTimes {
  database: Pick<DatabaseOptions, 'url' | 'schema' | 'timeouts'>
  worker: WorkerRow
  board: SharedArrayBuffer
}

/** Messages to the thread, and from it. */
export type ToRenewal =
  | { kind: 'hold'; claim: Claim; slot: number }
  | { kind: 'drop'; batchId: string }
  | { kind: 'stop' }
export type FromRenewal =
  | { kind: 'lost'; batchId: string }
  | { kind: 'failed'; error: { name: string; message: string }; attempt: number; waitMs: number }
  | { kind: 'restored'; afterMs: number }
  | { kind: 'drain' }

/** Each instance of Sluice in the process has its own line to the thread. */
export interface RenewalLine {
  order: RenewalOrder
  port: MessagePort
}

/** To start a thread takes a tenth of a second of processor time, so that it waits so long for somebody else. */
const lingerMs = 5_000

/** The one thread of this process that extends leases, for all instances of Sluice in it. */
interface Renewing {
  readonly thread: Worker
  /** Who is to be told when the thread ends by itself. */
  readonly users: Set<(error: Error) => void>
  goes: NodeJS.Timeout | undefined
}

let renewing: Renewing | undefined

/** An instance's end of its line. */
export interface Renewal {
  readonly port: MessagePort
  /** Ends the renewing for this instance, within some seconds even if the thread does not answer. */
  leave(): Promise<void>
}

/** How long the thread may take to finish a renewal before its line is cut. */
const leaveMs = 3_000

/**
 * A line to the thread, which is started if need be. The line keeps the process alive until it is closed, the thread
 * does not. `onDeath` is called when the thread ends by itself, which nothing should make it do.
 */
export function openRenewal(order: RenewalOrder, onDeath: (error: Error) => void): Renewal {
  const used = (renewing ??= startThread())
  clearTimeout(used.goes)
  used.users.add(onDeath)
  const { port1: port, port2: end } = new MessageChannel()
  // A thread that dies closes its lines, which may be heard before its death is.
  const closed = new Promise<void>((resolve) => port.once('close', () => resolve()))
  used.thread.postMessage({ order, port: end } satisfies RenewalLine, [end])
  const leave = async (): Promise<void> => {
    used.users.delete(onDeath)
    port.postMessage({ kind: 'stop' } satisfies ToRenewal)
    const limit = setTimeout(() => port.close(), leaveMs)
    await closed
    clearTimeout(limit)
    if (used.users.size === 0 && used === renewing) linger(used)
  }
  return { port, leave }
}

function linger(used: Renewing): void {
  clearTimeout(used.goes)
  used.goes = setTimeout(() => {
    renewing = undefined
    void used.thread.terminate()
  }, lingerMs).unref()
}

function startThread(): Renewing {
  const extension = extname(import.meta.url)
  // From source the thread needs a loader for TypeScript, which Node 20 has not; the published package does not.
  const execArgv = extension === '.ts' ? ['--import', import.meta.resolve('jiti/register')] : []
  const thread = new Worker(new URL(`./renewal${extension}`, import.meta.url), { execArgv })
  thread.unref()
  const started: Renewing = { thread, users: new Set(), goes: undefined }
  let cause: Error | undefined
  thread.on('error', (error) => {
    cause = error
  })
  thread.once('exit', (code) => {
    if (renewing === started) renewing = undefined
    for (const tell of started.users) tell(cause ?? new Error(`the thread ended with code ${code}`))
  })
  return started
}
