import pg from 'pg'
import { expect } from 'vitest'

/** What a claim gives, and what a worker remembers of it for the next one. */
interface Claimed {
  jobs: string | null
  life: string
  floor: string
}

/** Claims as a worker does, on a connection that ends with it. */
export async function claimByHand(url: string, id: number, known?: Claimed): Promise<Claimed & { ids: number[] }> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    const { rows } = await client.query<Claimed>(
      `select r.jobs, r.life, r.claims_floor as floor
       from sluice.queue q, sluice.claim_jobs($1, gen_random_uuid(), array(select name from sluice.job_class), array[q.id],
         array[q.id], '{1}', '{0}', 10, 10, 1, $2, $3) r
       where q.name = 'default'`,
      [id, known?.life ?? null, known?.floor ?? '0'],
    )
    const claimed = rows[0] ?? expect.unreachable()
    const jobs = JSON.parse(claimed.jobs ?? '[]') as [id: number][]
    return { ...claimed, ids: jobs.map(([job]) => job) }
  } finally {
    await client.end()
  }
}
