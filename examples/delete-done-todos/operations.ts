import { z } from 'zod'
// In your own project this line is: import { defineOperation, sql } from 'sluice'
import { defineOperation, sql } from '../../src/index.ts'

/** Deletes what a user has done and not touched since a moment of the user's choice. */
export const deleteDoneTodos = defineOperation({
  name: 'delete-done-todos',
  args: z.object({ userId: z.number().int(), deleteUntil: z.coerce.date() }),
  table: 'todos',
  cursor: ['id'],
  scope: ({ args }) => sql`state = 'done' and user_id = ${args.userId}`,
  perform: ({ batch, args }) => batch.delete(sql`updated_at < ${args.deleteUntil}`),
})
