import type pg from 'pg'
// In your own project this line is: import { defineOperation, sql } from 'sluice'
import { defineOperation, sql, type OperationDefinition } from '../../src/index.ts'
import type { MailSender } from './mail.ts'

/**
 * Warns the owners of projects without activity for a year. A mail cannot be rolled back, so this has effects outside
 * of the database: they may be repeated after a crash, and the key tells the mail provider that they are.
 */
export function warnInactiveProjects(deps: { mail: MailSender; database: pg.Pool }): OperationDefinition<undefined> {
  return defineOperation({
    name: 'warn-inactive-projects',
    table: 'projects',
    effects: 'external',
    subBatchSize: 50,
    // Whoever worked on a project after a warning is warned anew when that was a year ago.
    scope: ({ startedAt }) => sql`
      last_activity_at < ${startedAt}::timestamptz - interval '1 year'
      and (warned_at is null or warned_at < last_activity_at)`,
    async perform(work) {
      for (const row of work.rows) {
        work.signal.throwIfAborted()
        await deps.mail.send({ key: work.keyOf(row), to: String(row['owner_email']), subject: warningAbout(row) })
      }
      const ids = work.rows.map((row) => row['id'])
      await deps.database.query('update projects set warned_at = now() where id = any($1)', [ids])
    },
  })
}

const warningAbout = (row: Record<string, unknown>): string =>
  `Your project ${String(row['name'])} will be deleted in 30 days unless somebody uses it`

/** Deletes the projects whose owners were warned 30 days ago, and that nobody has touched since. */
export const deleteWarnedProjects: OperationDefinition<undefined> = defineOperation({
  name: 'delete-warned-projects',
  table: 'projects',
  verify: true,
  scope: ({ startedAt }) => sql`
    warned_at > last_activity_at and warned_at < ${startedAt}::timestamptz - interval '30 days'`,
  perform: ({ batch }) => batch.delete(),
})
