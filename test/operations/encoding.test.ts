import { randomBytes } from 'node:crypto'
import pg from 'pg'
import sql from 'sql-template-tag'
import { expect, inject, test } from 'vitest'
import { defineOperation, Sluice } from '../../src/index.ts'
import { run, withDatabase } from '../support/cluster.ts'
import { EventLog } from '../support/events.ts'
import { until } from '../support/wait.ts'
import { testProfile } from '../support/worker.ts'
import { ended } from '../support/working.ts'

/** A database that stores the letters of western Europe and no others. */
async function latinDatabase(): Promise<AsyncDisposable & { url: string; value(text: string): Promise<unknown> }> {
  const cluster = inject('clusterUrl')
  const name = `latin_${randomBytes(6).toString('hex')}`
  const pool = new pg.Pool({ connectionString: withDatabase(cluster, name), max: 1 })
  const server = new pg.Client({ connectionString: cluster })
  await server.connect()
  const { rows } = await server.query<{ version: number }>(
    `select current_setting('server_version_num')::int as version`,
  )
  await server.end()
  const provider = (rows[0]?.version ?? 0) < 150_000 ? '' : 'locale_provider libc'
  await run(cluster, `create database ${name} encoding 'LATIN1' locale 'C' ${provider} template template0`)
  return {
    url: withDatabase(cluster, name),
    value: async (text) => Object.values((await pool.query<object>(text)).rows[0] ?? {})[0],
    async [Symbol.asyncDispose]() {
      await pool.end()
      await run(cluster, `drop database ${name} with (force)`)
    },
  }
}

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
