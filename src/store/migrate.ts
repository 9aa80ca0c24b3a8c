/**
 * Brings a schema to what this release needs: numbered files of tables, forward only, and function files, which replace
 * the functions of the schema whenever their text changes.
 *
 * Decisions.
 * - A schema is up to date when all numbered files are applied and the hashes of all function files are those of this
 *   release. Workers only check; nothing but {@link migrate} writes, so a worker cannot put old functions back.
 * - A newer schema is refused unless its numbered files have the line `-- sluice: compatible`. This default is safe: a
 *   forgotten directive stops old workers, and cannot corrupt their work. The functions of a newer release count as
 *   newer, too: a release whose functions older workers can live with says so with a compatible numbered file.
 * - Which of two texts of a function is the newer one no hash can tell, so the release is recorded with them. Within
 *   one release, which happens in development, the text at hand wins.
 * - All that is pending runs in one transaction, under a transaction-level advisory lock. When several processes start
 *   together, one migrates and the others find the work done. No directive allows a migration outside a transaction,
 *   because none needs it yet.
 * - Workers go on working meanwhile. They lock tables in the order of their work and a migration in that of its files,
 *   so that the server may see a deadlock and end the migration. It has changed nothing then and is run again.
 * - This is our only advisory lock. Any login of the server can take it and so hold up a migration, which ends with
 *   MIGRATION_BUSY. Everything else locks rows that need a right, but before the first migration there is no row.
 */
import { SluiceError } from '../errors.ts'
import type { StoreConnection } from './connection.ts'
import { migrationScript, readRelease, statementsOf, type Release } from './migrations.ts'
import { Pool, type PoolOptions, type Transaction } from './pool.ts'
import { compareSchema, type SchemaStatus } from './schema-status.ts'
import { isReadOnly, isUnreachable, readOnly, sqlstate, unreachable } from './sqlstate.ts'
import { checkSchemaName, statement } from './statement.ts'

/** What one run of {@link migrate} did. */
export interface MigrationResult {
  from: number
  to: number
  applied: string[]
}

const hasMigrations = statement<void, { steps: boolean; functions: boolean }>(
  'migration.exists',
  `select to_regclass('sluice.migration') is not null as steps,
     to_regclass('sluice.function_file') is not null as functions`,
  () => [],
)

const listApplied = statement<void, { version: number; name: string; compatible: boolean }>(
  'migration.list',
  `select version, name, compatible
   from sluice.migration
   order by version`,
  () => [],
)

const listFunctions = statement<void, { name: string; hash: string; release: string }>(
  'migration.functions',
  `select name, hash, release
   from sluice.function_file
   order by name`,
  () => [],
)

const lock = statement<{ key: string }, unknown>(
  'migration.lock',
  `select pg_advisory_xact_lock(hashtextextended($1, 0))`,
  ({ key }) => [key],
)

/** Compares the schema in the database with the one that a release needs: this one, if no other is given. */
export async function schemaStatus(connection: StoreConnection, release?: Release): Promise<SchemaStatus> {
  const [there] = await hasMigrations(connection)
  return compareSchema(release ?? (await readRelease()), {
    steps: there?.steps === true ? await listApplied(connection) : [],
    functions: there?.functions === true ? await listFunctions(connection) : [],
  })
}

/** Brings a database to the schema of this release, on a connection of its own. */
export async function migrateDatabase(options: Pick<PoolOptions, 'url' | 'schema'>): Promise<MigrationResult> {
  const timeouts = { statementMs: 60_000, lockMs: 15_000, idleInTransactionMs: 60_000 }
  // Settings go into the transaction: right with and without a pooler.
  const pool = new Pool({ ...options, purpose: 'migrate', size: 1, pooled: true, timeouts })
  try {
    return await migrate(pool)
  } finally {
    await pool.end()
  }
}

/** How often a migration runs that the server ends because of a deadlock. */
const tries = 5

/** Applies what is pending, all of it in one transaction; of several starters one applies and the others find it done. */
export async function migrate(pool: Pool, given?: Release): Promise<MigrationResult> {
  const release = given ?? (await readRelease())
  for (let left = tries - 1; ; left--) {
    try {
      return await pool.transaction(async (transaction) => {
        await lock(transaction, { key: `${pool.schema}.migrate` })
        return await applyPending(transaction, release)
      })
    } catch (error) {
      if (left === 0 || !isDeadlock(error)) throw reasonOf(error)
    }
  }
}

const isDeadlock = (error: unknown): boolean => sqlstate(error) === '40P01'

function reasonOf(error: unknown): unknown {
  if (isUnreachable(error)) return unreachable(error)
  if (isReadOnly(error)) return readOnly(error as Error)
  if (sqlstate(error) !== '55P03' && !isDeadlock(error)) return error
  return new SluiceError('MIGRATION_BUSY', {
    message:
      'The schema could not be locked in time: another migration, a long transaction or busy workers are in the way. Nothing was changed; try again when they have ended.',
    cause: error,
  })
}

async function applyPending(transaction: Transaction, release: Release): Promise<MigrationResult> {
  const status = await schemaStatus(transaction, release)
  const { found, needed, pending } = status
  refuse(status, transaction.schema)
  if (status.state !== 'current') {
    for (const sql of statementsOf(release, pending, transaction.schema)) await transaction.query(sql, [])
  }
  return { from: found, to: Math.max(found, needed), applied: namesOf(pending) }
}

/** The names of what is pending; refuses a schema that no migration of this release can make right. */
export async function pendingNames(connection: StoreConnection): Promise<string[]> {
  const status = await schemaStatus(connection)
  refuse(status, connection.schema)
  return namesOf(status.pending)
}

function namesOf({ migrations, functions }: SchemaStatus['pending']): string[] {
  return [...migrations, ...functions].map(({ name }) => name)
}

/** Refuses a schema that this release does not know, older or newer, before any work is taken. Writes nothing. */
export async function checkSchema(connection: StoreConnection, release?: Release): Promise<void> {
  const status = await schemaStatus(connection, release)
  refuse(status, connection.schema)
  if (status.state === 'current') return
  const { state, found, needed } = status
  throw new SluiceError(state === 'missing' ? 'SCHEMA_MISSING' : 'SCHEMA_BEHIND', {
    message:
      state === 'missing'
        ? `There is no Sluice schema "${connection.schema}" in this database. Run "sluice migrate" first.`
        : found < needed
          ? `The database schema is at version ${found}; this release needs ${needed}. Run "sluice migrate" first.`
          : 'Functions in the database schema are not those of this release. Run "sluice migrate" first.',
    details: { found, needed, pending: namesOf(status.pending) },
  })
}

/** The script that {@link migrate} would run after version `from`, for teams with a migration tool of their own. */
export async function printMigrations(schema: string, from = 0): Promise<string> {
  const release = await readRelease()
  const needed = release.migrations.length
  if (from > needed) throw ahead({ found: from, needed })
  const migrations = release.migrations.filter(({ version }) => version > from)
  // All of them: which of them are there already only the database knows, and to replace one by itself changes nothing.
  return migrationScript(release, { migrations, functions: release.functions }, checkSchemaName(schema))
}

/** What no migration can make right. */
function refuse(status: SchemaStatus, schema: string): void {
  if (status.state === 'ahead') throw ahead(status)
  if (status.state !== 'foreign') return
  throw new SluiceError('SCHEMA_FOREIGN', {
    message: `The schema "${schema}" in this database comes from before the first release of Sluice and cannot be upgraded. Nothing was changed. Name another schema, or drop this one with all that is in it, then run "sluice migrate".`,
    details: { schema, found: status.found, needed: status.needed },
  })
}

function ahead({
  found,
  needed,
  writtenBy,
}: Pick<SchemaStatus, 'found' | 'needed'> & Partial<SchemaStatus>): SluiceError {
  const what =
    writtenBy === undefined
      ? `The database schema is at version ${found}, which this release (version ${needed}) does not know.`
      : `The functions in the database schema are those of the newer release ${writtenBy}.`
  return new SluiceError('SCHEMA_AHEAD', {
    message: `${what} Deploy the newer release of Sluice here; a schema never goes back.`,
    details: { found, needed },
  })
}
