import type { Blindness, Source } from '../probe.ts'

/** Sessions and replicas of other roles are hidden from whoever may not read all statistics. */
export async function needsStatsRole(source: Source, hidden: string): Promise<Blindness | undefined> {
  const [row] = await source.query<{ may: boolean; role: string }>(
    `select pg_has_role(current_user, 'pg_read_all_stats', 'usage') as may, quote_ident(current_user) as role`,
  )
  if (row === undefined || row.may) return undefined
  return { reason: hidden, remedy: `grant pg_read_all_stats to ${row.role};` }
}
