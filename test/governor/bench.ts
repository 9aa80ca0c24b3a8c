import pg from 'pg'
import type { Measure, Probe, Source } from '../../src/governor/probe.ts'
import { smallCommit } from '../../src/store/governing.ts'
import { openClient } from '../support/jobs.ts'

/** A probe on a real server, read by hand. */
export interface ProbeBench extends AsyncDisposable {
  look(more?: Partial<Source>, table?: string): Promise<Measure | undefined>
  blindness(): ReturnType<NonNullable<Probe['blindness']>>
}

/** Opens a probe with a connection of its own, known to the server as ours. */
export async function openProbe(probe: Probe, url: string): Promise<ProbeBench> {
  const client = new pg.Client({ connectionString: url, application_name: 'sluice health' })
  client.on('error', () => undefined)
  await client.connect()
  const query = async <Row extends object>(text: string, values: unknown[] = []): Promise<Row[]> =>
    (await client.query(text, values)).rows as Row[]
  const [row] = await query<{ version: number }>(`select current_setting('server_version_num')::int as version`)
  const source = (): Source => ({
    query,
    commit: async () =>
      void (await smallCommit({ schema: 'sluice', query: (text, values) => client.query(text, values) })),
    serverVersion: row?.version ?? 0,
    cores: 1,
    nowMs: performance.now(),
    transactions: 0,
    peers: 0,
    working: true,
  })
  const reader = probe.open()
  return {
    look: (more = {}, table = '') => reader({ ...source(), ...more }, table),
    blindness: async () => probe.blindness?.(source()),
    [Symbol.asyncDispose]: () => client.end(),
  }
}

/** A session with a name, for whoever has to be seen. */
export async function session(url: string, name: string): Promise<Awaited<ReturnType<typeof openClient>>> {
  const named = new URL(url)
  named.searchParams.set('application_name', name)
  return openClient(named.href)
}
