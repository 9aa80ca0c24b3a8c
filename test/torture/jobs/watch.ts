import { setTimeout as sleep } from 'node:timers/promises'
import type { TestDatabase } from '../../support/database.ts'

/** What must never be seen, in any snapshot; each counts the sightings. */
export interface Sightings {
  samples: number
  /** Keys of which more jobs were let in than their limit allows. */
  overLimit: number
  /**
   * Unique keys with two jobs where there may be one. What was claimed once has started, also when its claim went back:
   * then it is next in line (another state) and has its key no more.
   */
  twins: number
  /** Claimed jobs that no claim lists: nobody would ever free them. */
  orphans: number
  /** New jobs that two claims list. */
  shared: number
}

/** Looks at all invariants in one statement, and so in one snapshot. */
const look = `
  select
    (select count(*)::int from (select from sluice.job where key_hash is not null and state = 4
       group by key_hash having count(*) > max(key_limit)) k) as "overLimit",
    (select count(*)::int from (select from sluice.job j join sluice.job_class c on c.id = j.class_id
       where c.name = 'until-success' or (c.name = 'until-start' and j.state = 0
         and not exists (select from sluice.job_claim k where k.job_ids @> j.id))
       group by j.unique_hash having count(*) > 1) u) as twins,
    (select count(*)::int from sluice.job j where j.claim_id is not null and not exists (
       select from sluice.job_claim c where c.id = j.claim_id and c.job_ids @> j.id)) as orphans,
    (select count(*)::int from sluice.job j where j.state = 0
       and (select count(*) from sluice.job_claim c where c.job_ids @> j.id) > 1) as shared`

/** Looks at the invariants again and again until told to stop. */
export function watchInvariants(db: TestDatabase): { stop(): Promise<Sightings> } {
  const over = new AbortController()
  const seen: Sightings = { samples: 0, overLimit: 0, twins: 0, orphans: 0, shared: 0 }
  const watching = (async () => {
    while (!over.signal.aborted) {
      // A server that is down is looked at again when it is back.
      const [found] = await db.query<Omit<Sightings, 'samples'>>(look).catch(() => [])
      if (found !== undefined) {
        seen.samples += 1
        seen.overLimit += found.overLimit
        seen.twins += found.twins
        seen.orphans += found.orphans
        seen.shared += found.shared
      }
      await sleep(100)
    }
  })()
  return {
    async stop() {
      over.abort()
      await watching
      return seen
    },
  }
}
