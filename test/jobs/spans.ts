import { z } from 'zod'
import type { TestDatabase } from '../support/database.ts'

/** Jobs of a key, numbered in the order of their enqueueing. */
export const args = z.object({ key: z.string(), n: z.number() })
export type Args = z.infer<typeof args>

/** A table in which handlers write down when they start and end. The server counts what overlaps. */
export async function withSpans(db: TestDatabase): Promise<TestDatabase> {
  await db.query(`create table span (id bigserial primary key, job bigint, key text, n int,
    began timestamptz default clock_timestamp(), ended timestamptz)`)
  await db.query('grant usage on sequence span_id_seq to test_worker')
  return db
}

/** How many of a key ran at once, at most. One that was killed half way never ended: it counts until it ran again. */
export const mostAtOnce = (db: TestDatabase, key: string): Promise<number> =>
  db.value(
    `select max((select count(*) from span b where b.key = a.key and b.began <= a.began
         and coalesce(b.ended, b.began) >= a.began))::int
     from span a where a.key = $1`,
    [key],
  )

export const inOrder = async (db: TestDatabase, key: string): Promise<number[]> =>
  (await db.query<{ n: number }>('select n from span where key = $1 order by began', [key])).map(({ n }) => n)

export const lot = (key: string, length: number): Args[] => Array.from({ length }, (_, n) => ({ key, n }))
