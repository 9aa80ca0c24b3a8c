/**
 * Work that is done once per key, for work that has no key of its own in a table.
 *
 * The model. The first caller inserts the key, runs its function, and stores the result in the same transaction. Others
 * with that key wait on the unique index until the first has committed, and are given the stored result; when the first
 * failed, the next one runs. Inside of a process they wait in line, so that they do not hold connections meanwhile.
 *
 * The invariants. Key, result and what the function does through `tx` commit together or not at all. What failed or
 * died has stored nothing. When the answer to COMMIT is lost, the table is asked: the same insert waits for the end of
 * the doubtful transaction, and either finds its result or proves that there is none.
 *
 * Inside of the work of one call another one may run, in a transaction of its own. Each level has its own connections:
 * whoever holds one waits for deeper levels only, so they cannot all wait for each other. A key inside of itself is
 * refused, as it would wait for its own end.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { SluiceError } from '../../errors.ts'
import { backoffMs } from '../../std/backoff.ts'
import { parseDuration, type Duration } from '../../std/duration.ts'
import { toJson, type Json } from '../../std/json.ts'
import { sleep } from '../../std/sleep.ts'
import { quoted } from '../../std/storable.ts'
import { onTransaction, type Connection, type StoreConnection } from '../../store/connection.ts'
import type { Database } from '../../store/database.ts'
import * as store from '../../store/inbox-once.ts'
import { classify } from '../../store/sqlstate.ts'
import { transactionEnded } from '../../store/transaction-end.ts'
import { hashOf } from './key.ts'
import { Lines } from './lines.ts'

/** Choices for {@link Sluice.once}. */
export interface OnceOptions {
  /** The result is kept for so long; then the work may be done again. Default: 24 hours. */
  for?: Duration
  /** Keys of one scope have nothing to do with those of another. */
  scope?: string
  /** Do it as part of this transaction of yours, such as the `tx` of a job. */
  tx?: Connection
}

/** What the function of {@link Sluice.once} receives. */
export interface OnceContext {
  /** What goes through it commits together with the result. */
  tx: Connection
}

interface Order {
  hash: string
  scope: string
  key: string
  keepMs: number
}

/** A result in its stored form; `none`: there is no row. */
type Stored = { result: Json | null } | 'none'

const maxBytes = 256 * 1024
const longestMs = 3_660 * 86_400_000
/** How long to wait for another process that has the key. */
const patienceMs = 60_000

/** The keys that are taken in this process, and those of all in the table. */
export class Once {
  readonly #database: () => Promise<Database>
  readonly #lines = new Lines()

  constructor(database: () => Promise<Database>) {
    this.#database = database
  }

  async run<T>(key: string, given: (context: OnceContext) => Promise<T> | T, options: OnceOptions): Promise<T> {
    const order = checkOrder(key, options)
    // What was begun inside of work that is over by now is not inside of it any more.
    const around = (surrounding.getStore() ?? []).filter(({ over }) => !over)
    if (around.some(({ hash }) => hash === order.hash)) throw insideItself(order)
    const database = await this.#database()
    const work = async (context: OnceContext): Promise<T> => {
      const own = { hash: order.hash, over: false }
      try {
        return await surrounding.run([...around, own], () => given(context))
      } finally {
        own.over = true
      }
    }
    if (options.tx !== undefined) return (await within(options.tx, { order, work, database })) as T
    const [stored] = await store.storedResult(database.control, order)
    if (stored !== undefined) return valueOf(stored) as T
    const patience = { limitMs: patienceMs, late: () => busy(order) }
    const pool = around.length === 0 ? database.work : database.nested(around.length)
    return this.#lines.wait(order.hash, async () => (await alone({ order, work, database }, pool)) as T, patience)
  }
}

/** The keys whose work is being done around the call. */
const surrounding = new AsyncLocalStorage<readonly { hash: string; over: boolean }[]>()

interface Task {
  order: Order
  work: (context: OnceContext) => unknown
  database: Database
}

/** In a transaction of our own, again and again while another process has the key. */
async function alone(task: Task, pool: Database['work']): Promise<unknown> {
  const { order } = task
  const end = performance.now() + patienceMs
  for (let attempt = 1; ; attempt++) {
    let [began, committing] = [false, false]
    try {
      return await pool.transaction(async (tx) => {
        const stored = await takeOrRead(tx, order)
        if (stored !== 'none') return valueOf(stored)
        began = true
        const result = await perform(tx, task, () => tx.isEnded())
        committing = true
        return result
      })
    } catch (error) {
      if (committing && classify(error) === 'connection') return await settleDoubt(task, pool, error)
      // Once the work has begun, its failure is the caller's.
      if (began || classify(error) !== 'retry') throw error
      if (performance.now() > end) throw busy(order, error)
      await sleep(backoffMs(attempt, { baseMs: 20, maxMs: 500 }, Math.random()))
    }
  }
}

/** In the caller's transaction. A part of its own, so that the caller may survive a failure of the work. */
async function within(tx: Connection, { order, work, database }: Task): Promise<unknown> {
  const connection = onTransaction(tx, database.control.schema)
  await store.savepoint(connection)
  try {
    const stored = await takeOrRead(connection, order)
    const value = stored === 'none' ? await perform(connection, { order, work, database }) : valueOf(stored)
    await store.release(connection)
    return value
  } catch (error) {
    // Where even that fails, nothing of the transaction can be committed.
    await store.rollBack(connection).catch(() => undefined)
    throw error
  }
}

/** Takes the key, or gives the result that is there. */
async function takeOrRead(connection: StoreConnection, order: Order): Promise<Stored> {
  for (;;) {
    if ((await store.takeKey(connection, order)).length > 0) return 'none'
    const [stored] = await store.storedResult(connection, order)
    // Taken by a call that has not ended, and nobody else's transaction can be seen: so it is in this one.
    if (isUnderWay(stored)) throw insideItself(order)
    // Expired between the two looks: then the key is free.
    if (stored !== undefined) return stored
  }
}

async function perform(
  connection: StoreConnection,
  { order, work }: Task,
  isEnded: () => boolean = () => false,
): Promise<unknown> {
  const tx: Connection = {
    async query(text, values) {
      if (isEnded()) throw endedBy(order)
      return connection.query(text, values)
    },
  }
  const returned = await work({ tx })
  // The result would commit by itself, whatever became of the changes.
  if (isEnded()) throw endedBy(order)
  const result = checkResult(order, returned)
  await store.storeResult(connection, { ...order, result })
  return valueOf({ result: result === null ? null : (JSON.parse(result) as Json) })
}

/** After a lost answer to COMMIT only the table knows. */
async function settleDoubt({ order }: Task, pool: Database['work'], cause: unknown): Promise<unknown> {
  const end = performance.now() + patienceMs
  for (let attempt = 1; ; attempt++) {
    try {
      return valueOf(await pool.transaction((tx) => probe(tx, order)))
    } catch (error) {
      if (error instanceof NothingStored || performance.now() > end) throw cause
      if (!['connection', 'retry', 'hold'].includes(classify(error))) throw error
      await sleep(backoffMs(attempt, { baseMs: 50, maxMs: 2_000 }, Math.random()))
    }
  }
}

/** It was rolled back; thrown, so that the probe is, too. */
class NothingStored extends Error {}

async function probe(tx: StoreConnection, order: Order): Promise<Exclude<Stored, 'none'>> {
  const stored = await takeOrRead(tx, order)
  if (stored === 'none') throw new NothingStored()
  return stored
}

function isUnderWay(stored: store.OnceRow | undefined): boolean {
  return typeof stored?.result === 'object' && stored.result !== null && !('value' in stored.result)
}

function valueOf(stored: Stored): unknown {
  return stored === 'none' || stored.result === null ? undefined : (stored.result as { value: Json }).value
}

/** The text to store: the value in an object, so that null and nothing stay apart. */
function checkResult({ key }: Order, value: unknown): string | null {
  if (value === undefined) return null
  const json = toJson(value)
  const text = 'fault' in json ? '' : JSON.stringify({ value: json.value })
  const problem =
    'fault' in json
      ? `${json.fault.path.replace(/^args/, 'result')}: ${json.fault.reason}`
      : Buffer.byteLength(text) > maxBytes
        ? `it takes more than ${maxBytes} bytes`
        : undefined
  if (problem === undefined) return text
  throw new SluiceError('ONCE_RESULT_INVALID', {
    message: `The result of once ${quoted(key)} cannot be stored: ${problem}. Nothing was committed; return less, such as an id.`,
    details: { key, problem },
  })
}

const known = ['for', 'scope', 'tx']

function checkOrder(key: string, options: OnceOptions): Order {
  const { for: keep = '24h', scope = '' } = options
  const keepMs = parseDuration(keep)
  const stray = Object.keys(options).find((name) => !known.includes(name))
  const problem =
    typeof key !== 'string' || key === '' || key.length > 1_000 || !key.isWellFormed() || key.includes('\0')
      ? 'the key must be a text of 1 to 1,000 characters'
      : typeof scope !== 'string' || scope.length > 200 || !scope.isWellFormed() || scope.includes('\0')
        ? '"scope" must be a text of up to 200 characters'
        : keepMs === undefined || keepMs < 1 || keepMs > longestMs
          ? '"for" must be a time such as "24h", ten years at most'
          : stray === undefined
            ? undefined
            : `there is no option "${stray}"`
  if (problem === undefined) return { hash: hashOf([scope, key]), scope, key, keepMs: keepMs ?? 0 }
  throw new SluiceError('ONCE_INVALID', {
    message: `once ${quoted(key)} cannot be done: ${problem}.`,
    details: { problem },
  })
}

function endedBy({ key }: Order): SluiceError {
  return transactionEnded(`The work of once ${quoted(key)}`, 'no result is stored')
}

function insideItself({ key }: Order): SluiceError {
  return new SluiceError('ONCE_INVALID', {
    message: `once ${quoted(key)} cannot be done: the work of that key is running around this call, or in its transaction, and would wait for itself. Call it once, or give the inner work a key of its own.`,
    details: { key },
  })
}

function busy({ key }: Order, cause?: unknown): SluiceError {
  return new SluiceError('ONCE_BUSY', {
    message: `Another call of once ${quoted(key)} has been running for more than ${patienceMs / 1_000} s. Try again later; what takes long belongs in a job.`,
    details: { key },
    cause,
  })
}
