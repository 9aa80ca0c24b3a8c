/**
 * Migrations: numbered SQL files, forward only.
 *
 * Decisions.
 * - A newer schema is refused unless its migration has the line `-- sluice: compatible`. This default is safe: a
 *   forgotten directive stops old workers, and cannot corrupt their work.
 * - All pending migrations run in one transaction, under a transaction-level advisory lock. When several processes
 *   start together, one migrates and the others find the work done. No directive allows a migration outside a
 *   transaction, because none needs it yet.
 * - This is our only advisory lock. Any login of the server can take it and so hold up a migration, which ends with
 *   MIGRATION_BUSY. Everything else locks rows that need a right, but before the first migration there is no row.
 */
import { SluiceError } from '../errors.ts'
import type { StoreConnection } from './connection.ts'
import { migrationScript, readMigrations, recordSql, type Migration } from './migrations.ts'
import { Pool, type PoolOptions, type Transaction } from './pool.ts'
import { isReadOnly, isUnreachable, readOnly, sqlstate, unreachable } from './sqlstate.ts'
import { checkSchemaName, inSchema, statement } from './statement.ts'

/** What is in the database beside what this release brings. */
export interface SchemaStatus {
  /** Version in the database; 0 when Sluice was never migrated there. */
  found: number
  /** Version that this release needs. */
  needed: number
  pending: Migration[]
  /** Applied by a newer release and not marked as compatible with ours. */
  unknown: number[]
}

/** What one run of {@link migrate} did. */
export interface MigrationResult {
  from: number
  to: number
  applied: string[]
}

const hasMigrations = statement<void, { there: boolean }>(
  'migration.exists',
  `select to_regclass('sluice.migration') is not null as there`,
  () => [],
)

const listApplied = statement<void, { version: number; compatible: boolean }>(
  'migration.list',
  `select version, compatible
   from sluice.migration
   order by version`,
  () => [],
)

const lock = statement<{ key: string }, unknown>(
  'migration.lock',
  `select pg_advisory_xact_lock(hashtextextended($1, 0))`,
  ({ key }) => [key],
)

/** Compares the schema in the database with the one of this release. */
export async function schemaStatus(connection: StoreConnection): Promise<SchemaStatus> {
  const migrations = await readMigrations()
  const [exists] = await hasMigrations(connection)
  const applied = exists?.there === true ? await listApplied(connection) : []
  const needed = migrations.length
  const found = Math.max(0, ...applied.map(({ version }) => version))
  return {
    found,
    needed,
    pending: migrations.filter(({ version }) => version > found),
    unknown: applied.filter(({ version, compatible }) => version > needed && !compatible).map(({ version }) => version),
  }
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

/** Applies what is pending, all of it in one transaction; of several starters one applies and the others find it done. */
export async function migrate(pool: Pool): Promise<MigrationResult> {
  try {
    return await pool.transaction(async (transaction) => {
      await lock(transaction, { key: `${pool.schema}.migrate` })
      return await applyPending(transaction)
    })
  } catch (error) {
    if (isUnreachable(error)) throw unreachable(error)
    if (isReadOnly(error)) throw readOnly(error as Error)
    if (sqlstate(error) !== '55P03') throw error
    throw new SluiceError('MIGRATION_BUSY', {
      message:
        'The schema could not be locked in time: another migration or a long transaction is in the way. Nothing was changed; try again when it has ended.',
      cause: error,
    })
  }
}

async function applyPending(transaction: Transaction): Promise<MigrationResult> {
  const status = await schemaStatus(transaction)
  if (status.unknown.length > 0) throw ahead(status)
  for (const migration of status.pending) {
    await transaction.query(inSchema(migration.sql, transaction.schema), [])
    await transaction.query(recordSql(migration, transaction.schema), [])
  }
  return {
    from: status.found,
    to: Math.max(status.found, status.needed),
    applied: status.pending.map(({ name }) => name),
  }
}

/** Refuses a schema that this release does not know, older or newer, before any work is taken. */
export async function checkSchema(connection: StoreConnection): Promise<void> {
  const status = await schemaStatus(connection)
  if (status.unknown.length > 0) throw ahead(status)
  if (status.found >= status.needed) return
  const { found, needed } = status
  throw new SluiceError(found === 0 ? 'SCHEMA_MISSING' : 'SCHEMA_BEHIND', {
    message:
      found === 0
        ? `There is no Sluice schema "${connection.schema}" in this database. Run "sluice migrate" first.`
        : `The database schema is at version ${found}; this release needs ${needed}. Run "sluice migrate" first.`,
    details: { found, needed },
  })
}

/** The script that {@link migrate} would run after version `from`, for teams with a migration tool of their own. */
export async function printMigrations(schema: string, from = 0): Promise<string> {
  const all = await readMigrations()
  if (from > all.length) throw ahead({ found: from, needed: all.length })
  const migrations = all.filter(({ version }) => version > from)
  return migrationScript(migrations, checkSchemaName(schema))
}

function ahead({ found, needed }: Pick<SchemaStatus, 'found' | 'needed'>): SluiceError {
  return new SluiceError('SCHEMA_AHEAD', {
    message: `The database schema is at version ${found}, which this release (version ${needed}) does not know. Deploy the newer release of Sluice here; a schema never goes back.`,
    details: { found, needed },
  })
}
