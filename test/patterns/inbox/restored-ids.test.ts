import { expect, test } from 'vitest'
import { ledgerDatabase, notes, place, renewals, working } from './ground.ts'

test('after the ids of two inboxes have changed places, each gets its own messages', async () => {
  await using db = await ledgerDatabase()
  const inboxes = ['stripe', 'apple'].map((name) =>
    renewals({
      name,
      async perform({ payload, tx }) {
        await tx.query('insert into ledger (note) values ($1)', [`${name} ${payload.id}`])
      },
    }),
  )
  const [stripe = expect.unreachable(), apple = expect.unreachable()] = inboxes
  await using sender = place(db, inboxes)
  await using worker = await working(db, inboxes)
  for (const inbox of [stripe, apple]) await sender.inboxes.receive(inbox, { id: 'before', cents: 1 })
  await worker.events.event('inbox.processed', { nth: 2 })
  // What a restore may do: an older copy of the tables, in which the other name has this id.
  await db.query('delete from sluice.inbox_key')
  for (const table of ['inbox', 'job_class']) {
    const prefix = table === 'inbox' ? '' : 'inbox.'
    await db.query(`update sluice.${table} set name = name || '-old' where name in ($1, $2)`, [
      `${prefix}stripe`,
      `${prefix}apple`,
    ])
    await db.query(
      `update sluice.${table} set name = case name when $1 || '-old' then $2 else $1 end where name like '%-old'`,
      [`${prefix}stripe`, `${prefix}apple`],
    )
  }

  await sender.inboxes.receive(stripe, { id: 'after', cents: 1 })
  // Not its own message, or none: then its job ends, too.
  await worker.events.event('job.finished', { nth: 3 })

  expect(await sender.inboxes.find(stripe, 'after')).toMatchObject({ state: 'processed' })
  expect((await notes(db)).at(-1)).toBe('stripe after')
})
