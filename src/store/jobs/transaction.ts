import { ConnectionBroken, JobLost, type Ending, type JobClaim } from '../../jobs/ending.ts'
import type { CallersTransaction, HeldClaim } from '../../jobs/queue.ts'
import type { SluiceError } from '../../errors.ts'
import { backoffMs } from '../../std/backoff.ts'
import { errorRecord } from '../../std/error-record.ts'
import { sleep } from '../../std/sleep.ts'
import type { Database } from '../database.ts'
import type { BatchNews } from '../job-batches.ts'
import type { Transaction } from '../pool.ts'
import { classify } from '../sqlstate.ts'
import { transactionEnded } from '../transaction-end.ts'
import { writeEndings } from './endings.ts'
import * as settle from './settle.ts'

/** An ending that was committed with the work; without one, the answer to its COMMIT was lost. */
interface Committed {
  ending: Ending | undefined
  admitted: number
  news: BatchNews[]
}

/**
 * Runs a handler in the transaction in which its job ends: the claim is locked first, so nobody can take the job over
 * meanwhile, and the ending and the changes commit together or not at all.
 */
export async function runInTransaction(
  { database, workerId }: { database: Database; workerId: string },
  held: HeldClaim,
  work: (tx: CallersTransaction) => Promise<Ending>,
): Promise<Committed> {
  const claim = { id: held.id, claimId: held.claimId }
  // A broken connection of the handler's own, to whatever, is a failure of the handler.
  let handlerFailed = false
  try {
    return await database.work.transaction(async (transaction) => {
      const mine = await settle.held(transaction, { claims: [claim] })
      if (mine.length === 0) throw new JobLost()
      const [tx, isBroken] = watched(transaction, held)
      const ending = await work(tx).catch((error: unknown) => {
        handlerFailed = !isBroken()
        throw error
      })
      // The ending would commit by itself, whatever became of the changes.
      if (transaction.isEnded()) throw endedBy(held)
      const order = { endings: [ending], emptyClaims: [], workerId }
      const { ids, admitted, news } = await writeEndings(transaction, order)
      if (ids.length === 0) throw new JobLost()
      return { ending, admitted, news }
    })
  } catch (error) {
    if (classify(error) !== 'connection') throw error
    if ((await outcomeInDoubt(database, claim, held.sinceMs)) === 'rolled back') {
      throw handlerFailed ? error : new ConnectionBroken(errorRecord(error).message, { cause: error })
    }
    return { ending: undefined, admitted: 0, news: [] }
  }
}

/** The same connection as long as its transaction lasts, and whether it broke under a statement. */
function watched(transaction: Transaction, held: HeldClaim): [CallersTransaction, isBroken: () => boolean] {
  let broken = false
  const query: CallersTransaction['query'] = async (text, values) => {
    if (transaction.isEnded()) throw endedBy(held)
    return transaction.query(text, values).catch((error: unknown) => {
      broken ||= classify(error) === 'connection'
      throw error
    })
  }
  return [{ query }, () => broken]
}

function endedBy({ name }: HeldClaim): SluiceError {
  return transactionEnded(`The handler of "${name}"`, 'its job has not ended')
}

/** After a broken connection only the job's row knows whether the COMMIT took effect. Waits for the doubt to end. */
async function outcomeInDoubt(
  database: Database,
  claim: JobClaim,
  fromMs: number,
): Promise<'committed' | 'rolled back'> {
  for (let attempt = 1; ; attempt++) {
    try {
      if ((await settle.held(database.control, { claims: [claim] })).length === 1) return 'rolled back'
      if ((await settle.completedBy(database.control, { claims: [claim], fromMs })).length === 1) return 'committed'
      throw new JobLost()
    } catch (error) {
      if (error instanceof JobLost || !['connection', 'retry', 'hold'].includes(classify(error))) throw error
      await sleep(backoffMs(attempt, { baseMs: 50, maxMs: 2_000 }, Math.random()))
    }
  }
}
