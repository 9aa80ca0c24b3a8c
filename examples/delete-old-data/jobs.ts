import { z } from 'zod'
// In your own project this line is: import { defineJob, defineSchedule, type JobDefinition, type ScheduleDefinition } from 'sluice'
import { defineJob, defineSchedule, type JobDefinition, type ScheduleDefinition } from '../../src/index.ts'

/** Deletes what is older than three months, so many rows at a time, and enqueues itself while there is more. */
export const deleteOldData: JobDefinition<{ limit?: number }> = defineJob({
  name: 'delete-old-data',
  queue: 'background',
  args: z.object({ limit: z.number().int().positive().default(500) }),
  // Whoever enqueues it: one waits, whatever its limit is, and one runs.
  unique: { for: '1h', until: 'start', key: () => 'delete-old-data' },
  concurrency: { limit: 1, key: () => 'delete-old-data' },
  // The next hour tries again anyway.
  retry: false,
  transaction: true,
  async perform({ args: { limit }, tx, enqueue }) {
    const { rowCount } = await tx.query(deleteSome, [limit])
    if (rowCount === limit) await enqueue(deleteOldData, { limit })
  },
})

/** The rows are found by the index; `skip locked` leaves out what somebody else is working on. */
export const deleteSome = `
  delete from data
  where id = any(array(
    select id
    from data
    where created_at < now() - interval '3 months'
    order by created_at
    limit $1
    for update skip locked))`

/** Begins a chain every hour. While one is waiting, the hour adds nothing to it. */
export const hourly: ScheduleDefinition = defineSchedule({
  name: 'delete-old-data',
  cron: '0 * * * *',
  job: deleteOldData,
  args: {},
})
