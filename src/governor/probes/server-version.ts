import type { Source } from '../probe.ts'

/** The version of the server, such as 180001: some statistics have moved over the years. */
export async function readServerVersion(query: Source['query']): Promise<number> {
  const [row] = await query<{ version: number }>(`select current_setting('server_version_num')::int as version`)
  return row?.version ?? 0
}
