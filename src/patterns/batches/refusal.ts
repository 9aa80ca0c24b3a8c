import { SluiceError, type SluiceErrorCode } from '../../errors.ts'
import { sqlstate } from '../../store/sqlstate.ts'

const codes: Readonly<Record<string, { code: SluiceErrorCode; remedy: string }>> = {
  P0002: { code: 'BATCH_NOT_FOUND', remedy: '"sluice batches list" shows what is there' },
  '55000': { code: 'BATCH_STATE', remedy: 'Open another one' },
  '25000': { code: 'ISOLATION_TOO_STRICT', remedy: 'Or let Sluice seal it, without "tx"' },
  '22023': { code: 'BATCH_INVALID', remedy: 'Give a batch that is in no other one as "parent"' },
}

/** Runs a statement on batches of jobs; what the database refuses becomes an error that says what to do. */
export async function explained<T>(id: number | undefined, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    const known = codes[sqlstate(error) ?? '']
    const text = error instanceof Error ? error.message : ''
    const [said] = /(?:there is no )?batch of jobs .*/.exec(text) ?? []
    if (known === undefined || said === undefined) throw error
    const sentence = `${said.charAt(0).toUpperCase()}${said.slice(1)}`
    const { code, remedy } = known
    throw new SluiceError(code, { message: `${sentence}. ${remedy}.`, details: { id }, cause: error })
  }
}

/** Refuses what cannot be the number of a batch of jobs. */
export function checkBatchId(id: number): number {
  if (Number.isSafeInteger(id) && id > 0) return id
  throw notFound(id)
}

export function notFound(id: unknown): SluiceError {
  return new SluiceError('BATCH_NOT_FOUND', {
    message: `There is no batch of jobs ${String(id)}. It may have been dropped with its history; "sluice batches list" shows what is there.`,
    details: { id },
  })
}
