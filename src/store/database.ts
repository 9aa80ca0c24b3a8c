import type { Timeouts } from './connection.ts'
import { Pool } from './pool.ts'
import { detectPooler } from './pooler.ts'
import { isUnreachable, unreachable } from './sqlstate.ts'

/** Which database holds our tables, and the limits for talking to it. */
export interface DatabaseOptions {
  url: string | undefined
  schema: string
  timeouts: Timeouts
  /** Connections for users' work; one per batch that runs at once. */
  workSize: number
}

/**
 * The control store and first target: one pool for our own short statements and one for users' work, so that slow
 * work can never keep a lease from being settled. Leases are renewed by a thread with a connection of its own.
 */
export interface Database extends AsyncDisposable {
  readonly options: DatabaseOptions
  readonly pooled: boolean
  readonly control: Pool
  readonly work: Pool
  close(): Promise<void>
}

const controlSize = 3

/** Opens the pools, after one look whether a transaction pooler is in between. */
export async function openDatabase(options: DatabaseOptions): Promise<Database> {
  const pooled = await detectPooler(options.url).catch((error: unknown) => {
    throw isUnreachable(error) ? unreachable(error) : error
  })
  const control = new Pool({ ...options, purpose: 'control', size: controlSize, pooled, countsAsNumbers: true })
  const work = new Pool({ ...options, purpose: 'work', size: options.workSize, pooled })
  const close = async (): Promise<void> => {
    await Promise.all([control.end(), work.end()])
  }
  return { options, pooled, control, work, close, [Symbol.asyncDispose]: close }
}
