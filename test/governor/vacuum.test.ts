import { expect, test } from 'vitest'
import { defineOperation, sql } from '../../src/index.ts'
import { postgresUpkeep } from '../../src/targets/postgres/upkeep.ts'
import { VacuumCare } from '../../src/governor/vacuum-care.ts'
import { openDatabase } from '../../src/store/database.ts'
import type { TestDatabase } from '../support/database.ts'
import { until } from '../support/wait.ts'
import { alone, spawnWorker, testProfile } from '../support/worker.ts'
import { counters, working } from '../support/working.ts'

const shape = { name: 'add-one', table: 'counters', batchSize: 5_000, subBatchSize: 500 }
const governor = { ...alone, every: '50ms' } as const
const timeouts = { statement: '30s', idleInTransaction: '60s' } as const

const optionsOf = (db: TestDatabase): Promise<string[] | null> =>
  db.value(`select reloptions from pg_class where oid = 'counters'::regclass`)

/** One look at both: a worker that was late may ask for it once more, and that is put back, too. */
const isPutBack = (db: TestDatabase): Promise<boolean> =>
  db.value(
    `select reloptions @> '{vacuum_truncate=true}' and not exists (select from sluice.table_setting)
     from pg_class where oid = 'counters'::regclass`,
  )

test('vacuum does not cut off the end of a table while an operation runs, and may again afterwards', async () => {
  await using db = await counters(1_000)
  await db.query('alter table counters set (vacuum_truncate = true, fillfactor = 90)')
  const careful = defineOperation({
    ...shape,
    vacuum: { truncate: false },
    async perform({ batch }) {
      await until(
        'the table says so',
        async () => (await optionsOf(db))?.includes('vacuum_truncate=false') === true,
        60_000,
      )
      return batch.update(sql`n = n + 1`)
    },
  })
  const { sluice } = working(db, [careful], { database: db.url, governor, timeouts })
  await using _ = sluice
  await sluice.start()
  const { id } = await sluice.operations.start(careful)
  await sluice.operations.wait(id, { everyMs: 20 })
  await until('the table is as before', () => isPutBack(db))
  expect(await optionsOf(db)).toContain('fillfactor=90')
})

test('what a process that died has left behind is put back by another', async () => {
  await using db = await counters(10)
  await db.query('alter table counters set (vacuum_truncate = false)')
  await db.query(`insert into sluice.table_setting (table_name) values ('public.counters'), ('public.gone')`)
  const { sluice } = working(db, [], { database: db.url })
  await using _ = sluice
  await sluice.start()
  await until(
    'nothing is left to put back',
    async () => (await db.value<number>('select count(*)::int from sluice.table_setting')) === 0,
  )
  expect(await optionsOf(db)).toBeNull()
})

test('a worker killed while the end of a table is kept is followed by one that puts it back', async () => {
  await using db = await counters(500)
  await db.query('alter table counters set (vacuum_truncate = true)')
  const careful = { ...shape, vacuum: { truncate: false } }
  const finishing = defineOperation({ ...careful, perform: ({ batch }) => batch.update(sql`n = n + 1`) })
  const { sluice } = working(db, [finishing], { database: db.url, governor })
  await using _ = sluice
  const { id } = await sluice.operations.start(finishing)
  const hanging = `const operations = [defineOperation({
    ...${JSON.stringify(careful)},
    perform: () => new Promise((resolve) => setTimeout(resolve, 60_000)),
  })]`
  {
    const profile = { ...testProfile, timeouts: { ...testProfile.timeouts, idleInTransaction: '60s' }, governor }
    await using worker = await spawnWorker({ url: db.url, operations: hanging, profile })
    const kept = async (): Promise<boolean> => (await optionsOf(db))?.includes('vacuum_truncate=false') === true
    await until('the end of the table is kept', kept)
    worker.kill('SIGKILL')
    await worker.exited
  }
  expect(await optionsOf(db)).toContain('vacuum_truncate=false')
  await sluice.start()
  expect((await sluice.operations.wait(id, { everyMs: 20 })).state).toBe('finished')
  await until('the table is as before', () => isPutBack(db))
  expect(await db.value('select bool_and(n = 1) from counters')).toBe(true)
})

test('a role that may not leaves the table alone, and says so once', async () => {
  await using db = await counters(2_000)
  const careful = defineOperation({
    ...shape,
    vacuum: { truncate: false, every: 1_000 },
    perform: ({ batch }) => batch.update(sql`n = n + 1`),
  })
  const { sluice, events } = working(db, [careful], { governor })
  await using _ = sluice
  await sluice.start()
  const { id } = await sluice.operations.start(careful)
  expect((await sluice.operations.wait(id, { everyMs: 20 })).state).toBe('finished')
  const warnings = events.all.flatMap(({ event, payload }) => (event === 'warning' ? [payload.message] : []))
  expect(warnings.filter((message) => /for its owner|may not vacuum/.test(message))).toHaveLength(1)
  expect(await optionsOf(db)).toBeNull()
})

test('what two find out at the same moment is said once', async () => {
  await using db = await counters(10)
  const limits = { statementMs: 10_000, lockMs: 1_000, idleInTransactionMs: 10_000 }
  await using database = await openDatabase({ url: db.workerUrl, schema: 'sluice', workSize: 1, timeouts: limits })
  const said: string[] = []
  const care = new VacuumCare({ upkeep: postgresUpkeep(database), warn: (what) => said.push(what) })
  await Promise.all([care.keepEnd('public.counters', 'one'), care.keepEnd('public.counters', 'other')])
  expect(said).toEqual(['leaves vacuum as it is'])
})

test('the table is vacuumed after so many changed rows', async () => {
  await using db = await counters(3_000)
  await db.query('alter table counters set (autovacuum_enabled = off)')
  const cleaning = defineOperation({
    ...shape,
    vacuum: { every: 1_000 },
    perform: ({ batch }) => batch.update(sql`n = n + 1`),
  })
  const { sluice } = working(db, [cleaning], { database: db.url, governor })
  await using _ = sluice
  await sluice.start()
  await sluice.operations.start(cleaning)
  const vacuums = `select vacuum_count::int from pg_stat_user_tables where relname = 'counters'`
  await until('a vacuum is counted', async () => (await db.value<number>(vacuums)) > 0)
})

test('an operation with a budget of dead rows waits for vacuum', async () => {
  await using db = await counters(20_000)
  await db.query('alter table counters set (autovacuum_enabled = off)')
  await db.query('delete from counters where id > 12000')
  const dead = `select n_dead_tup::int from pg_stat_user_tables where relname = 'counters'`
  await until('the dead rows are known', async () => {
    await db.query('select pg_stat_force_next_flush()').catch(() => undefined)
    return (await db.value<number>(dead)) >= 8_000
  })
  const budgeted = defineOperation({
    ...shape,
    vacuum: { deadRows: 0.3 },
    subBatchSize: 100,
    scope: () => sql`id <= 500`,
    perform: async ({ batch }) => {
      // The first sub-batch goes on when the dead rows were seen, the others only when they are gone.
      await events.event('operation.limited')
      return batch.update(sql`n = n + 1`)
    },
  })
  const { sluice, events } = working(db, [budgeted], { governor })
  await using _ = sluice
  await sluice.start()
  const { id } = await sluice.operations.start(budgeted)
  const held = await events.event('operation.held')
  const reason = /dead rows of the table is 4[01] % \(public\.counters, heap\), slows from 15 %, stops at 30 %/
  expect(held.reason).toMatch(reason)
  // Whoever holds a snapshot at that moment keeps rows from being removed.
  await until('vacuum has let it go on', async () => {
    await db.query('vacuum counters')
    return (await sluice.operations.get(id)).state === 'finished'
  })
})
