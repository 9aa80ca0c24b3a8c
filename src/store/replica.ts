/**
 * Reads from a replica: for looks that read many rows and decide nothing about who owns what.
 *
 * The model. Whoever reads says by a position in the WAL what he must not miss. A replica that has replayed that much
 * shows all that was committed by then; whether it has is asked in the transaction that reads, because a name may stand
 * for several servers. One that is behind is waited for briefly. Control state is never read here.
 *
 * The invariants. A replica that is behind, stopped, gone, promoted or just slow costs a bounded time and is then left
 * alone for a while: the caller reads from the primary, and nobody notices but by speed. Nothing is written, so a crash
 * leaves nothing.
 *
 * Decision: a replica must have replayed the position of the primary at the moment when the look began. The second pass
 * must not miss a row, so "nothing left" has to mean the same on the replica.
 */
import { SluiceError } from '../errors.ts'
import { errorRecord } from '../std/error-record.ts'
import { sleep } from '../std/sleep.ts'
import type { Connection, StoreConnection, Timeouts } from './connection.ts'
import { Pool } from './pool.ts'
import { isRefused } from './sqlstate.ts'
import { statement } from './statement.ts'

/** Where the WAL of the primary is: behind everything that is committed. Null: it does not tell. */
const walPosition = statement<void, { at: string | null }>(
  'server.walPosition',
  'select sluice.wal_position()::text as at',
  () => [],
)

const replayed = statement<{ since: string }, { reached: boolean; standby: boolean }>(
  'replica.replayed',
  `select pg_is_in_recovery() as standby, coalesce(pg_last_wal_replay_lsn() >= $1::pg_lsn, false) as reached`,
  ({ since }) => [since],
)

const identity = statement<void, { system: string; name: string; standby: boolean }>(
  'server.identity',
  `select system_identifier::text as system, current_database()::text as name, pg_is_in_recovery() as standby
   from pg_control_system()`,
  () => [],
)

/** How long a replica may take to catch up with the question, and to answer in all beside its limit. */
const [catchUpMs, askEveryMs, patienceMs] = [500, 10, 1_000]
/** How long one that failed is left alone, and one that is only behind. */
const [restMs, behindMs] = [30_000, 5_000]

/** It answers, but does not show yet what must not be missed. */
class Behind extends Error {
  override readonly name = 'Behind'
}

/** A replica that may be read from. */
export class Replica {
  readonly #pool: Pool
  /** Says that reads go elsewhere from now on, or come back; null: they go here. */
  readonly #say: (reason: string | null) => void
  #restUntil = 0
  #said: string | null | undefined

  constructor(
    options: { url: string; schema: string; size: number; timeouts: Timeouts },
    say: (reason: string | null) => void,
  ) {
    // Each read is a transaction with limits of its own: right with and without a pooler.
    this.#pool = new Pool({ ...options, purpose: 'replica', pooled: true, standby: true })
    this.#say = say
  }

  /** Where the primary is now: what a read must not miss. Undefined: that cannot be told, read from the primary. */
  async position(primary: StoreConnection): Promise<string | undefined> {
    const [found] = await walPosition(primary)
    if (typeof found?.at === 'string') return found.at
    this.#leave('the primary does not tell where its log is')
    return undefined
  }

  /** Reads here what was committed at `since`; undefined: it cannot be read here, ask the primary. */
  async read<T>(
    work: (connection: Connection) => Promise<T>,
    { since, limitMs }: { since: string; limitMs: number },
  ): Promise<{ value: T } | undefined> {
    if (performance.now() < this.#restUntil) return undefined
    const over = new AbortController()
    const late = sleep(limitMs + catchUpMs + patienceMs, over.signal).then(() => {
      throw new Error('it gives no answer')
    })
    try {
      const value = await Promise.race([this.#read(work, { since, limitMs, signal: over.signal }), late])
      this.#tell(null)
      return { value }
    } catch (error) {
      this.#restUntil = performance.now() + (error instanceof Behind ? behindMs : restMs)
      this.#tell(errorRecord(error).message)
      return undefined
    } finally {
      over.abort()
      late.catch(() => undefined)
    }
  }

  async #read<T>(
    work: (connection: Connection) => Promise<T>,
    { since, limitMs, signal }: { since: string; limitMs: number; signal: AbortSignal },
  ): Promise<T> {
    const end = performance.now() + catchUpMs
    for (;;) {
      const found = await this.#pool.transaction(
        async (transaction) => {
          const [state] = await replayed(transaction, { since })
          if (state?.standby !== true) throw new Error('it is no replica any more')
          return state.reached ? { value: await work(transaction) } : undefined
        },
        { statementMs: limitMs },
      )
      if (found !== undefined) return found.value
      if (performance.now() > end) throw new Behind('it has not caught up')
      await sleep(askEveryMs, signal)
    }
  }

  /** Refuses what is no replica of this primary. One that cannot be asked is left alone until it can. */
  async check(primary: StoreConnection): Promise<void> {
    const over = new AbortController()
    const [here] = await identity(primary).catch((error: unknown) => {
      if (isRefused(error)) return []
      throw error
    })
    const asked = identity(this.#pool).catch(() => [])
    const [there] = await Promise.race([asked, sleep(patienceMs * 2, over.signal).then(() => [])])
    over.abort()
    if (there === undefined || here === undefined) return this.#leave('it cannot be asked')
    if (here.system !== there.system || !there.standby) {
      const what = there.standby ? 'is a replica of another server' : 'is no replica'
      throw refusal(`the server that "replica" names ${what}`)
    }
    if (here.name !== there.name) throw refusal(`"replica" names the database "${there.name}", not "${here.name}"`)
  }

  async end(): Promise<void> {
    await this.#pool.end()
  }

  #leave(reason: string): void {
    this.#restUntil = performance.now() + restMs
    this.#tell(reason)
  }

  #tell(reason: string | null): void {
    if (this.#said !== reason) this.#say(reason)
    this.#said = reason
  }
}

function refusal(problem: string): SluiceError {
  return new SluiceError('CONFIG_INVALID', {
    message: `The configuration is wrong: ${problem}. Give the connection string of a streaming replica of "database", or leave "replica" out.`,
    details: { option: 'replica' },
  })
}
