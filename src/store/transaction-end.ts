import type pg from 'pg'
import { SluiceError } from '../errors.ts'

/**
 * Whether a statement has ended the transaction that it was sent in. Nothing is asked of the server: it tells with each
 * answer what was done, and whether the session is in a transaction now. It is in one again after `commit; begin` and
 * after `and chain`. To go back to a savepoint is called ROLLBACK, too, and ends nothing.
 */
export function endsTransaction(text: string, result: unknown, client: pg.ClientBase): boolean {
  // Of several statements in one text `pg` gives a list of results.
  const commands = (Array.isArray(result) ? result : [result]).map(
    (one: Pick<pg.QueryResult, 'command'>) => one.command,
  )
  const back = commands.indexOf('ROLLBACK')
  return (
    (client as { getTransactionStatus?: () => unknown }).getTransactionStatus?.() === 'I' ||
    commands.includes('COMMIT') ||
    (back !== -1 && (commands.includes('BEGIN', back) || /\band\s+chain\b/i.test(text)))
  )
}

/** The error of work that ends the transaction in which its changes and something of ours were to be committed together. */
export function transactionEnded(whose: string, together: string): SluiceError {
  return new SluiceError('DEFINITION_INVALID', {
    message: `${whose} has ended the transaction that it was given, by COMMIT or ROLLBACK. What it had changed before a COMMIT stays, and ${together}. Leave the end of the transaction to Sluice.`,
    details: { whose },
  })
}
