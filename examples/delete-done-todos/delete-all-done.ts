import type pg from 'pg'
import type { Sluice, StartedOperation } from '../../src/index.ts'
import { deleteDoneTodos } from './operations.ts'

export interface DeletionRequest {
  userId: number
  /** The customer that the user belongs to. */
  organization: string
  /** When the page was shown that has the button: a second click on it is then the same request. */
  deleteUntil: Date
}

/**
 * What the button "Delete all done" does: the request is written down and the operation started in one transaction,
 * so that there is never one without the other. The user gets an answer at once; the todos go in the background.
 */
export async function deleteAllDone(
  { database, sluice }: { database: pg.Pool; sluice: Sluice },
  { userId, organization, deleteUntil }: DeletionRequest,
): Promise<StartedOperation> {
  const tx = await database.connect()
  try {
    await tx.query('begin')
    const options = { tx, tenant: organization, actor: `user ${userId}` }
    const started = await sluice.operations.start(deleteDoneTodos, { userId, deleteUntil }, options)
    await tx.query('insert into deletion_requests (user_id, operation_id) values ($1, $2)', [userId, started.id])
    await tx.query('commit')
    return started
  } catch (error) {
    await tx.query('rollback')
    throw error
  } finally {
    tx.release()
  }
}
