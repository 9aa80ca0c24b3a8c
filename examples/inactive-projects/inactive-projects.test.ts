import { readFile } from 'node:fs/promises'
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Sluice, type OperationDefinition, type OperationStatus } from '../../src/index.ts'
import { testDatabase, type TestDatabase } from '../../test/support/database.ts'
import { FakeMailSender, type Mail } from './mail.ts'
import { deleteWarnedProjects, warnInactiveProjects } from './operations.ts'
import config from './sluice.config.ts'

/** Fails once in the middle of a sub-batch, after the provider has taken the mail. */
class UnreliableSender extends FakeMailSender {
  override async send(mail: Mail): Promise<void> {
    await super.send(mail)
    if (this.asked === 70) throw new Error('the answer of the mail provider was lost')
  }
}

const mail = new UnreliableSender()
let db: TestDatabase
let database: pg.Pool
let sluice: Sluice
let warn: OperationDefinition<undefined>

beforeAll(async () => {
  db = await testDatabase()
  database = new pg.Pool({ connectionString: db.workerUrl, max: 2 })
  warn = warnInactiveProjects({ mail, database })
  sluice = new Sluice({
    database: db.workerUrl,
    operations: [warn, deleteWarnedProjects],
    worker: { poll: '50ms' },
  })
  await db.query(await readFile(new URL('schema.sql', import.meta.url), 'utf8'))
  // Every third of 300 projects was last used two years ago.
  await db.query(`
    insert into projects (name, owner_email, last_activity_at)
    select 'p' || n, 'owner-' || n || '@example.com',
      now() - case when n % 3 = 0 then interval '2 years' else interval '2 days' end
    from generate_series(1, 300) n`)
  await sluice.start()
})

afterAll(async () => {
  await sluice.stop()
  await database.end()
  await db[Symbol.asyncDispose]()
})

async function run(definition: OperationDefinition<undefined>): Promise<OperationStatus> {
  const { id } = await sluice.operations.start(definition)
  return sluice.operations.wait(id, { everyMs: 20 })
}

const ids = async (where: string): Promise<number[]> =>
  (await db.query<{ id: number }>(`select id::int as id from projects where ${where} order by id`)).map(({ id }) => id)

const every = (step: number, first = step): number[] =>
  Array.from({ length: 300 }, (_, i) => i + 1).filter((n) => n % step === first % step)

test('the command line knows both operations', () => {
  expect(config.operations?.map(({ name }) => name)).toEqual(['warn-inactive-projects', 'delete-warned-projects'])
})

test('each owner of an inactive project gets one mail, also when sending breaks off in the middle', async () => {
  expect(await run(warn)).toMatchObject({ state: 'finished', rowsChanged: 100, rowsQuarantined: 0 })
  expect(mail.asked).toBeGreaterThan(100)
  expect(mail.sent.map(({ to }) => to).toSorted()).toEqual(
    every(3)
      .map((n) => `owner-${n}@example.com`)
      .toSorted(),
  )
  expect(await ids('warned_at is not null')).toEqual(every(3))
})

test('nobody is warned twice about the same year', async () => {
  const { asked } = mail
  expect(await run(warn)).toMatchObject({ state: 'finished', rowsChanged: 0 })
  expect(mail.asked).toBe(asked)
})

test('within 30 days of the warning nothing is deleted', async () => {
  expect(await run(deleteWarnedProjects)).toMatchObject({ state: 'finished', rowsChanged: 0 })
  expect(await ids('true')).toHaveLength(300)
})

test('after 30 days the projects go that nobody has touched since', async () => {
  await db.query(`update projects set warned_at = warned_at - interval '31 days' where id % 6 = 0`)
  await db.query(`update projects set last_activity_at = now() where id = 6`)

  expect(await run(deleteWarnedProjects)).toMatchObject({ state: 'finished', rowsChanged: 49 })

  expect(await ids('warned_at is not null')).toEqual([...every(6, 3), 6].toSorted((a, b) => a - b))
  expect(await ids('true')).toHaveLength(251)
})

test('a project that was used after its warning is warned anew when that was a year ago', async () => {
  await db.query(`update projects set last_activity_at = now() - interval '13 months',
    warned_at = now() - interval '14 months' where id = 6`)
  expect(await run(warn)).toMatchObject({ state: 'finished', rowsChanged: 1 })
  expect(mail.sent.filter(({ to }) => to === 'owner-6@example.com')).toHaveLength(2)
})
