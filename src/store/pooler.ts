import { SluiceError } from '../errors.ts'
import { sqlstate } from './sqlstate.ts'
import type { BareConnection, Pool } from './pool.ts'

/** What may stand between us and the server, and that it is to be found out. */
export const poolers = ['auto', 'transaction', 'none'] as const
export type Pooler = (typeof poolers)[number]

/** Opens a connection of the pool that wants to know. */
type Open = () => Promise<BareConnection>

/** Whether a transaction pooler stands between a pool and the server; found out unless somebody says so. */
export async function findPooler(pool: Pool, given: Pooler = 'auto'): Promise<boolean> {
  for (let look = 1; ; look++) {
    try {
      return await pool.findPooler((open) => isPooled(open, given))
    } catch (error) {
      if (!endedIdle(error) || look === mostLooks) throw error
    }
  }
}

const mostLooks = 20

/**
 * Whether a session had ended before it was asked. The role may give idle ones some milliseconds only, and nothing is set
 * on these yet. The driver keeps no reason of what ended between two statements.
 */
function endedIdle(error: unknown): boolean {
  return sqlstate(error) === '57P05' || (error as Error).message.startsWith('Client has encountered a connection error')
}

async function isPooled(open: Open, given: Pooler): Promise<boolean> {
  if (given === 'none') return false
  const first = await open()
  const pooled = given === 'transaction' || (await detectPooler(first, open))
  if (pooled) await refuseStatementMode(first)
  return pooled
}

/**
 * Finds out whether the sessions of the server are shared. A server that answers itself names its own process when a
 * connection opens; PgBouncer gives a number of its own, also in session mode, which cannot be told apart. Other poolers
 * may pass the server's number on. So it is also looked whether two open connections have the same process, or one
 * changes its own; but with others about that shows only most of the time.
 */
async function detectPooler(first: BareConnection, open: Open): Promise<boolean> {
  const second = await open()
  // Twice on one connection shows a pooler that takes turns, once on the other one that reuses the last.
  const own = [await backend(first), await backend(first)]
  const other = await backend(second)
  own.push(await backend(first))
  const [told, toldOther] = [first.processId, second.processId]
  return own.some((pid) => pid !== told) || other !== toldOther || own.includes(other)
}

/** A pooler that lends the server for one statement cannot run a transaction, and ours are made of several. */
async function refuseStatementMode(connection: BareConnection): Promise<void> {
  try {
    for (const text of ['begin', 'select 1', 'rollback']) await connection.ask(text)
  } catch (error) {
    if (!/statement pooling mode/.test((error as Error).message)) throw error
    throw new SluiceError('POOLER_MODE', {
      message:
        'The pooler before the database is in statement mode, which refuses transactions. Set pool_mode = transaction for this database and user, or connect directly.',
      cause: error,
    })
  }
}

async function backend(connection: BareConnection): Promise<unknown> {
  return (await connection.ask('select pg_backend_pid() as pid')).rows[0]?.['pid']
}
