import sql from 'sql-template-tag'
import { expect, test } from 'vitest'
import { defineOperation, Sluice } from '../../src/index.ts'
import { EventLog } from '../support/events.ts'
import { latinDatabase } from '../support/latin.ts'
import { until } from '../support/wait.ts'
import { testProfile } from '../support/worker.ts'
import { ended } from '../support/working.ts'

test('an error is kept in a database that cannot store its text', async () => {
  await using db = await latinDatabase()
  const bad = defineOperation({
    name: 'bad',
    table: 'counters',
    async perform({ batch }) {
      const rows = await batch.rows<{ id: number }>()
      if (rows.some(({ id }) => id === 7)) throw new RangeError('строка 7 costs 5 €')
      return batch.update(sql`n = n + 1`)
    },
  })
  await using sluice = new Sluice({ ...testProfile, database: db.url, operations: [bad] })
  await sluice.migrate()
  await db.value('create table counters (id int primary key, n int not null default 0)')
  await db.value('insert into counters (id) select generate_series(1, 20)')
  const events = new EventLog()
  sluice.onAny((event) => events.push(event))
  await sluice.start()
  const { id } = await sluice.operations.start(bad)
  const failed = (): string[] =>
    events.payloads('warning').flatMap(({ message }) => (message.includes('could not isolate') ? [message] : []))
  await until('the row is isolated, or cannot be', () => events.count('batch.quarantined') + failed().length > 0)
  expect(failed()).toEqual([])
  expect(await ended(sluice, id)).toMatchObject({
    state: 'finished_with_quarantine',
    rowsChanged: 19,
  })
  const [isolated] = await sluice.operations.quarantined(id)
  expect(isolated).toMatchObject({ upper_key: ['7'], error: { message: '?????? 7 costs 5 ?' } })
})
