import { SluiceError } from '../../errors.ts'

/** The error of work that ends the transaction in which its rows and the checkpoint were to be committed together. */
export function transactionEnded(table: string): SluiceError {
  return new SluiceError('DEFINITION_INVALID', {
    message: `"perform" has ended the transaction of its sub-batch, by COMMIT or ROLLBACK. What it had changed in ${table} before a COMMIT stays, and is not counted. Leave the end of the transaction to Sluice.`,
    details: { table },
  })
}
