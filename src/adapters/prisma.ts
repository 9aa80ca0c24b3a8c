import type { Connection } from '../store/connection.ts'
import { outside } from './outside.ts'

/** What an interactive `prisma.$transaction` gives. */
export interface PrismaTransaction {
  $queryRawUnsafe(text: string, ...values: never[]): PromiseLike<unknown>
  /** The client has it, a transaction has not. */
  $transaction?: never
}

/**
 * An interactive transaction of Prisma.
 *
 * @example
 * ```ts
 * await prisma.$transaction((tx) => sluice.jobs.enqueue(sendReceipt, { orderId }, { tx: fromPrisma(tx) }))
 * ```
 */
export function fromPrisma(tx: PrismaTransaction): Connection {
  if (typeof tx.$transaction === 'function') throw outside('fromPrisma', 'prisma.$transaction')
  return {
    async query(text, values) {
      try {
        const rows = (await tx.$queryRawUnsafe(text, ...(values as never[]))) as Record<string, unknown>[]
        return { rows, rowCount: rows.length }
      } catch (error) {
        throw asDriverError(error)
      }
    },
  }
}

/** Prisma keeps the server's code beside its own: with a driver adapter, or with an engine. */
interface Meta {
  driverAdapterError?: { cause?: { originalCode?: unknown; originalMessage?: unknown } }
  code?: unknown
  message?: unknown
}

function asDriverError(error: unknown): unknown {
  const meta = (error as { meta?: Meta } | null)?.meta
  const { originalCode: code = meta?.code, originalMessage: message = meta?.message } =
    meta?.driverAdapterError?.cause ?? {}
  if (typeof code !== 'string') return error
  return Object.assign(new Error(String(message), { cause: error }), { code, severity: 'ERROR' })
}
