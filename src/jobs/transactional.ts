import type { SluiceError } from '../errors.ts'
import { backoffMs } from '../std/backoff.ts'
import { errorRecord } from '../std/error-record.ts'
import { sleep } from '../std/sleep.ts'
import type { Connection } from '../store/connection.ts'
import type { Database } from '../store/database.ts'
import * as settle from '../store/jobs/settle.ts'
import type { Transaction } from '../store/pool.ts'
import { classify } from '../store/sqlstate.ts'
import { transactionEnded } from '../store/transaction-end.ts'
import type { Telemetry } from '../telemetry/telemetry.ts'
import { ConnectionBroken, endingOf, serverTimeOf, type Attempt } from './attempt.ts'
import { writeEndings, type Ending } from './endings.ts'
import { reportBatches } from './members.ts'

/** The claim is somebody else's by now. */
export class JobLost extends Error {
  override readonly name = 'JobLost'
}

/**
 * Runs a handler in the transaction in which its job ends: the claim is locked first, so nobody can take the job over
 * meanwhile, and the ending and the changes commit together or not at all.
 */
export async function runInTransaction(
  { database, telemetry, workerId }: { database: Database; telemetry: Telemetry; workerId: string },
  attempt: Attempt,
  work: (tx: Connection) => Promise<unknown>,
): Promise<{ ending: Ending; admitted: number }> {
  const began = performance.now()
  const claim = { id: attempt.job.id, claimId: attempt.claimId }
  // A broken connection of the handler's own, to whatever, is a failure of the handler.
  let handlerFailed = false
  try {
    const { news, ...written } = await database.work.transaction(async (transaction) => {
      const mine = await settle.held(transaction, { claims: [claim] })
      if (mine.length === 0) throw new JobLost()
      const [tx, isBroken] = watched(transaction, attempt)
      const returned = await work(tx).catch((error: unknown) => {
        handlerFailed = !isBroken()
        throw error
      })
      // The ending would commit by itself, whatever became of the changes.
      if (transaction.isEnded()) throw endedBy(attempt)
      const ending = endingOf(returned, attempt, Math.round(performance.now() - began))
      const order = { endings: [ending], emptyClaims: [], workerId }
      const { ids, admitted, news: happened } = await writeEndings(transaction, order)
      if (ids.length === 0) throw new JobLost()
      return { ending, admitted, news: happened }
    })
    reportBatches(telemetry, news)
    return written
  } catch (error) {
    if (classify(error) !== 'connection') throw error
    const fromMs = serverTimeOf(attempt, began)
    if ((await outcomeInDoubt(database, claim, fromMs)) === 'rolled back') {
      throw handlerFailed ? error : new ConnectionBroken(errorRecord(error).message, { cause: error })
    }
    return { ending: endingOf(undefined, attempt, Math.round(performance.now() - began)), admitted: 0 }
  }
}

/** The same connection as long as its transaction lasts, and whether it broke under a statement. */
function watched(transaction: Transaction, attempt: Attempt): [Connection, isBroken: () => boolean] {
  let broken = false
  const query: Connection['query'] = async (text, values) => {
    if (transaction.isEnded()) throw endedBy(attempt)
    return transaction.query(text, values).catch((error: unknown) => {
      broken ||= classify(error) === 'connection'
      throw error
    })
  }
  return [{ query }, () => broken]
}

function endedBy({ definition }: Attempt): SluiceError {
  return transactionEnded(`The handler of "${definition.name}"`, 'its job has not ended')
}

/** After a broken connection only the job's row knows whether the COMMIT took effect. Waits for the doubt to end. */
async function outcomeInDoubt(
  database: Database,
  claim: settle.JobClaim,
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
