// Compiled, never run: what must type-check, and what must not. An expected error that does not come is an error.
import { z } from 'zod'
import {
  defineConfig,
  defineOperation,
  expire,
  sql,
  Sluice,
  type OperationDefinition,
  type SluiceError,
} from '../../src/index.ts'

const sluice = new Sluice()
const { operations } = sluice

const deleteDoneTodos = defineOperation({
  name: 'delete-done-todos',
  args: z.object({ userId: z.number().int(), deleteUntil: z.coerce.date(), note: z.string().optional() }),
  table: 'todos',
  cursor: ['id'],
  scope: ({ args }) => {
    const userId: number = args.userId
    const until: Date = args.deleteUntil
    // @ts-expect-error the schema has no such property
    void args.deletedUntil
    return sql`state = 'done' and user_id = ${userId} and updated_at < ${until}`
  },
  perform: ({ batch, args }) => batch.delete(sql`updated_at < ${args.deleteUntil}`),
})

const expireEvents = expire({ name: 'expire-events', table: 'events', olderThan: '90 days', by: 'created_at' })

export async function starts(): Promise<void> {
  await operations.start(deleteDoneTodos, { userId: 7, deleteUntil: new Date() })
  await operations.start(deleteDoneTodos, { userId: 7, deleteUntil: '2026-01-01' }, { tenant: 'acme', actor: 'ada' })
  await operations.start(expireEvents)
  await operations.start(expireEvents, undefined, { tenant: 'acme' })
  // @ts-expect-error args are required
  await operations.start(deleteDoneTodos)
  // @ts-expect-error a property of args is missing
  await operations.start(deleteDoneTodos, { deleteUntil: new Date() })
  // @ts-expect-error a property of args has the wrong type
  await operations.start(deleteDoneTodos, { userId: '7', deleteUntil: new Date() })
  // @ts-expect-error a property of args is misspelt
  await operations.start(deleteDoneTodos, { userID: 7, deleteUntil: new Date() })
  // @ts-expect-error this one takes no args
  await operations.start(expireEvents, { days: 90 })
  // @ts-expect-error not an option
  await operations.start(expireEvents, undefined, { tennant: 'acme' })
}

export const wrong: unknown[] = [
  // @ts-expect-error an age needs a unit
  expire({ name: 'a', table: 'b', olderThan: '90', by: 'c' }),
  // @ts-expect-error not a unit of age
  expire({ name: 'a', table: 'b', olderThan: '90 parsecs', by: 'c' }),
  // @ts-expect-error the column is needed
  expire({ name: 'a', table: 'b', olderThan: '90 days' }),
  // @ts-expect-error a cursor has at least one column
  defineOperation({ name: 'a', table: 'b', cursor: [], perform: ({ batch }) => batch.delete() }),
  // @ts-expect-error a scope is SQL with bound values, not text
  defineOperation({ name: 'a', table: 'b', scope: () => `state = 'done'`, perform: ({ batch }) => batch.delete() }),
  // @ts-expect-error a filter is SQL with bound values, not text
  defineOperation({ name: 'a', table: 'b', perform: ({ batch }) => batch.delete(`state = 'done'`) }),
  // @ts-expect-error an update says what to set
  defineOperation({ name: 'a', table: 'b', perform: ({ batch }) => batch.update() }),
  // @ts-expect-error perform is needed
  defineOperation({ name: 'a', table: 'b' }),
  // @ts-expect-error perform gives a number or nothing
  defineOperation({ name: 'a', table: 'b', perform: async () => 'done' }),
  // @ts-expect-error a lease is a time
  defineConfig({ worker: { lease: '30 parsecs' } }),
  // @ts-expect-error not an option
  defineConfig({ databse: 'postgres://' }),
]

export const mixed: OperationDefinition[] = [deleteDoneTodos, expireEvents]
export const config = defineConfig({ operations: [deleteDoneTodos, expireEvents], worker: { lease: '30s', poll: 500 } })

export function events(error: SluiceError): void {
  sluice.on('batch.finished', ({ rowsChanged, busyMs }) => rowsChanged + busyMs)
  // @ts-expect-error no such event
  sluice.on('batch.done', () => undefined)
  // @ts-expect-error no such code
  if (error.code === 'TABLE_MISSING') sluice.on('warning', () => undefined)
}
