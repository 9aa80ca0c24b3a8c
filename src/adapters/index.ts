/**
 * # sluice/adapters
 *
 * Enqueue jobs and start operations in a transaction of your own, whatever library holds it. Each function takes what
 * that library gives you inside of a transaction and gives what the option `tx` takes. A client of `pg` needs none of
 * them: `{ tx: client }`.
 *
 * ```ts
 * await db.transaction().execute(async (trx) => {
 *   await trx.insertInto('orders').values(order).execute()
 *   await sluice.jobs.enqueue(sendReceipt, { orderId: order.id }, { tx: fromKysely(trx) })
 * })
 * ```
 *
 * **The invariants.**
 * - No library is imported: the functions ask for the few methods that they call.
 * - What is not inside of a transaction is refused, by the types where they can tell, and in any case when called. A
 *   job that was meant to join a transaction and did not would be found out on the first rollback.
 * - Arrays go as text in PostgreSQL's own notation: drivers disagree about everything else.
 * - Errors come out as the driver threw them, not as the library wrapped them, so that their code can be read.
 *
 * @module
 */
export { fromDrizzle, type DrizzleSql, type DrizzleTransaction } from './drizzle.ts'
export { fromKnex, type KnexTransaction } from './knex.ts'
export { fromKysely, type KyselyTransaction } from './kysely.ts'
export { fromMikroOrm, type MikroOrmEntities } from './mikro-orm.ts'
export { fromPostgresJs, type PostgresJsTransaction } from './postgres-js.ts'
export { fromPrisma, type PrismaTransaction } from './prisma.ts'
export { fromTypeorm, type TypeormEntities } from './typeorm.ts'
