import sql, { join, raw, type Sql } from 'sql-template-tag'
import type { StoreConnection } from '../../store/connection.ts'
import { sqlstate } from '../../store/sqlstate.ts'
import { findClaimed, lockClaimable, lockDue, lockStray, stamp, unstamp } from './claim.ts'
import { finaliseRows, forgetUnlessDue, releaseReferences, type Finalising } from './finalise.ts'
import { misfit, type Marks, type SweptTable } from './swept-table.ts'

/**
 * Has the server plan every statement that the sweep will run, and write down every word that it will write, without
 * touching a row. A right that is missing is not refused: somebody may grant it while the sweep waits.
 */
export async function checkSwept(
  connection: StoreConnection,
  swept: SweptTable,
  { name, finalising }: { name: string; finalising: Finalising },
): Promise<void> {
  try {
    if (swept.marks !== undefined) await tryWords(connection, swept.marks)
    await tryStatements(connection, swept, { name, finalising })
  } catch (error) {
    const state = sqlstate(error) ?? ''
    if (!/^(42|22|0A)/.test(state)) throw error
    const hint = state === '42P01' ? ' (name columns in "due" without their table)' : ''
    throw misfit(name, `${(error as Error).message}${hint}`, error)
  }
}

async function tryStatements(
  connection: StoreConnection,
  swept: SweptTable,
  { name: sweep, finalising }: { name: string; finalising: Finalising },
): Promise<void> {
  const planned = planning(connection)
  // A key that no row has: nothing looks at it before a statement is run.
  const wanted = [{ key: swept.key.columns.map(() => ''), nonce: anyNonce }]
  await lockDue(planned, swept, { sweep, limit: 1 })
  await findClaimed(planned, swept, wanted, 'wait')
  await stamp(planned, swept, wanted, anyNonce)
  await unstamp(planned, swept, wanted)
  await finaliseRows(planned, swept, wanted, finalising)
  await forgetUnlessDue(planned, swept, { sweep, wanted })
  await lockClaimable(planned, swept, wanted)
  const { marks, reference } = swept
  if (marks !== undefined) await lockStray(planned, { ...swept, marks }, { sweep, limit: 1 })
  if (reference !== undefined) await releaseReferences(planned, reference, new Map([['', 1]]))
}

/** A connection on which statements are planned instead of run, and find nothing. */
function planning(connection: StoreConnection): StoreConnection {
  return {
    schema: connection.schema,
    async query(text, values) {
      await connection.query(`explain ${text}`, values).catch((error: unknown) => {
        if (sqlstate(error) !== '42501') throw error
      })
      return { rows: [], rowCount: 0 }
    },
  }
}

/** A nonce, and always the same: some of the others are moments or numbers to the server, or almost. */
const anyNonce = 'ffffffff-ffff-4fff-bfff-ffffffffffff'
const word = (text: string, type: string): Sql => sql`${text}::text::${raw(type)}`

/** Planning does not look at the words of a status, nor whether a nonce fits its column. */
async function tryWords(connection: StoreConnection, { status, nonce, worker, from, to }: Marks): Promise<void> {
  const words = [word(from, status.type), word(to, status.type), word(anyNonce, nonce.type)]
  if (worker !== undefined) words.push(word(anyNonce, worker.type))
  const query = sql`select ${join(words)}`
  await connection.query(query.text, query.values)
}
