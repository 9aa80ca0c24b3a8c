import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { grantsScript } from '../../../src/index.ts'
import { testDatabase, type TestDatabase } from '../../support/database.ts'

/**
 * A database for one scenario. With another build of the package its schema is made by that build: much of the
 * engine is SQL in the migrations, and so may be a planted bug.
 */
export async function databaseOf(plan: { clusterUrl: string; package?: URL }): Promise<TestDatabase> {
  const db = await testDatabase(plan.clusterUrl)
  if (plan.package === undefined) return db
  await db.query('drop schema sluice cascade')
  const env = { ...process.env, SLUICE_DATABASE_URL: db.url }
  const main = fileURLToPath(new URL('cli/main.js', plan.package))
  await promisify(execFile)(process.execPath, [main, 'migrate'], { env })
  await db.query(grantsScript('sluice'))
  return db
}
