import type { TestDatabase } from './database.ts'

/** The url of an account that has one of the narrow roles and no more. */
async function accountOf(db: TestDatabase, role: string): Promise<string> {
  const url = new URL(db.url)
  Object.assign(url, { username: `${role}_${url.pathname.slice(1)}`, password: 'narrow' })
  await db.query(`do $$ begin create role ${url.username} login password 'narrow' in role ${role};
    exception when duplicate_object then null; end $$`)
  return url.href
}

/** The url of an account that may enqueue jobs and start operations. */
export const asEnqueuer = (db: TestDatabase): Promise<string> => accountOf(db, 'sluice_enqueue')
