import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  anonymise,
  backfill,
  expire,
  Sluice,
  sql,
  type OperationDefinition,
  type OperationStatus,
} from '../../src/index.ts'
import { testDatabase, type TestDatabase } from '../support/database.ts'
import { testProfile } from '../support/worker.ts'

const operations = {
  lowerEmails: backfill({
    name: 'lower-emails',
    table: 'people',
    set: { 'Email "lower"': sql`lower(email)`, visits: sql`coalesce(visits, ${0})` },
    where: sql`not gone or id % ${2} = 0`,
  }),
  forgetOld: anonymise({
    name: 'forget-old',
    table: 'people',
    columns: { email: sql`'person-' || id || '@example.invalid'`, 'Email "lower"': null },
    olderThan: '1 year',
    by: 'seen_at',
  }),
  forgetGone: anonymise({ name: 'forget-gone', table: 'people', columns: { email: null }, where: sql`gone` }),
  forgetOldAndGone: anonymise({
    name: 'forget-old-and-gone',
    table: 'people',
    columns: { email: sql`'nobody'` },
    olderThan: '1 year',
    by: 'seen_at',
    where: sql`gone or false`,
  }),
  expireOld: expire({ name: 'expire-old', table: 'people', olderThan: '1 year', by: 'seen_at' }),
}

let db: TestDatabase
let sluice: Sluice

beforeAll(async () => {
  db = await testDatabase()
  sluice = new Sluice({
    ...testProfile,
    worker: { ...testProfile.worker, poll: '20ms' },
    database: db.workerUrl,
    operations: Object.values(operations),
  })
  await sluice.start()
})

afterAll(async () => {
  await sluice.stop()
  await db[Symbol.asyncDispose]()
})

/** 1,200 people: one in three was last seen two years ago, one in four is gone. */
async function people(): Promise<void> {
  await db.query('drop table if exists people')
  await db.query(`
    create table people (id int primary key, email text, "Email ""lower""" text, visits int, seen_at timestamptz, gone bool)`)
  await db.query(`
    insert into people
    select n, 'P' || n || '@Example.com', case when n <= 100 then 'p' || n || '@example.com' end,
      case when n <= 100 then n end, now() - case when n % 3 = 0 then interval '2 years' else interval '2 days' end, n % 4 = 0
    from generate_series(1, 1200) n`)
}

async function run(definition: OperationDefinition<undefined>): Promise<OperationStatus> {
  const { id } = await sluice.operations.start(definition)
  return sluice.operations.wait(id, { everyMs: 20 })
}

const count = (where: string): Promise<number> => db.value(`select count(*)::int from people where ${where}`)
const versions = (): Promise<object[]> => db.query('select ctid, xmin, * from people order by id')

/** The second run finds everything right and writes no row. */
async function runsAgainInVain(definition: OperationDefinition<undefined>): Promise<void> {
  const before = await versions()
  expect(await run(definition)).toMatchObject({ state: 'finished', rowsMatched: 0, rowsChanged: 0 })
  expect(await versions()).toEqual(before)
}

describe('a backfill', () => {
  test('sets the columns of the rows that are meant and not right yet, and no others', async () => {
    await people()
    const odd = `gone and id % 2 = 1`
    await db.query(`update people set gone = true where id % 10 = 1`)

    const status = await run(operations.lowerEmails)

    expect(status).toMatchObject({ state: 'finished', rowsChanged: 1_200 - 100 - 110 })
    expect(await count(`not (${odd}) and ("Email ""lower""" is distinct from lower(email) or visits is null)`)).toBe(0)
    expect(await count(`${odd} and id > 100 and ("Email ""lower""" is not null or visits is not null)`)).toBe(0)
    expect(await count(`visits = 0`)).toBe(1_200 - 100 - 110)
    await runsAgainInVain(operations.lowerEmails)
  })

  test.each([
    ['no column', {}, '"set" must name at least one column'],
    ['nothing', undefined, '"set" must name at least one column'],
    ['a text for an expression', { a: 'lower(email)' }, 'the value of "a" must be an expression'],
    ['null', { a: null }, 'the value of "a" must be an expression'],
    ['a column without a name', { '': sql`1` }, 'a name that no column can have'],
  ])('is refused with %s', (_, set, problem) => {
    const spec = { name: 'b', table: 't', set: set as Record<string, never> }
    expect(() => backfill(spec)).toThrow(expect.objectContaining({ code: 'DEFINITION_INVALID' }))
    expect(() => backfill(spec)).toThrow(problem)
  })

  test('is refused with a condition or an option that is none', () => {
    const spec = { name: 'b', table: 't', set: { a: sql`1` } }
    expect(() => backfill({ ...spec, where: 'a = 1' as never })).toThrow('"where" must be a condition')
    expect(() => backfill({ ...spec, subBatchSise: 9 } as never)).toThrow('Did you mean "subBatchSize"?')
  })

  test('of a column that does not exist is refused at the start', async () => {
    const definition = backfill({ name: 'b', table: 'people', set: { nope: sql`1` } })
    await expect(sluice.operations.start(definition)).rejects.toMatchObject({ code: 'SCOPE_INVALID' })
  })
})

describe('an anonymisation', () => {
  test('replaces personal data in old rows, and in no others', async () => {
    await people()
    const young = await db.query(`select * from people where id % 3 > 0 order by id`)

    expect(await run(operations.forgetOld)).toMatchObject({ state: 'finished', rowsChanged: 400 })

    expect(await count(`email = 'person-' || id || '@example.invalid' and "Email ""lower""" is null`)).toBe(400)
    expect(await db.query(`select * from people where id % 3 > 0 order by id`)).toEqual(young)
    await runsAgainInVain(operations.forgetOld)
  })

  test('goes by a condition, alone or with an age', async () => {
    await people()
    expect(await run(operations.forgetOldAndGone)).toMatchObject({ state: 'finished', rowsChanged: 100 })
    expect(await count(`(email = 'nobody') = (gone and id % 3 = 0)`)).toBe(1_200)
    expect(await run(operations.forgetGone)).toMatchObject({ state: 'finished', rowsChanged: 300 })
    expect(await count(`(email is null) = gone`)).toBe(1_200)
    await runsAgainInVain(operations.forgetGone)
  })

  test.each([
    ['no column', { columns: {}, where: sql`true` }, '"columns" must name at least one column'],
    ['a text for an expression', { columns: { a: 'x' }, where: sql`true` }, 'or null'],
    ['no rows', { columns: { a: null } }, 'say which rows'],
    ['an age without a column', { columns: { a: null }, olderThan: '1 year' }, '"by" must name the column'],
    ['a column without an age', { columns: { a: null }, by: 'seen_at' }, '"olderThan" must be an age'],
    ['an age that is none', { columns: { a: null }, by: 'a', olderThan: '1 yr' }, 'such as "90 days", not "1 yr"'],
  ])('is refused with %s', (_, given, problem) => {
    const define = (): unknown => anonymise({ name: 'a', table: 't', ...given } as never)
    expect(define).toThrow(expect.objectContaining({ code: 'DEFINITION_INVALID' }))
    expect(define).toThrow(problem)
  })
})

describe('an expiry', () => {
  test('looks for leftovers before it ends, unless told not to', async () => {
    expect(operations.expireOld.verify).toBe(true)
    expect(expire({ name: 'e', table: 't', olderThan: '1 day', by: 'a', verify: false }).verify).toBe(false)
    await people()
    expect(await run(operations.expireOld)).toMatchObject({ state: 'finished', rowsChanged: 400, rowsSeen: 1_200 })
    expect(await count('id % 3 = 0')).toBe(0)
    expect(await count('true')).toBe(800)
  })
})
