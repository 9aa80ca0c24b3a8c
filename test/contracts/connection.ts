import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { defineJob, defineOperation, Sluice, type Connection } from '../../src/index.ts'
import { testDatabase, type TestDatabase } from '../support/database.ts'

/** A library that holds a transaction, as its users use it. */
export interface Library extends AsyncDisposable {
  /** Runs `work` in a transaction of the library; rolls back when it throws. */
  transaction<T>(work: (inside: Inside) => Promise<T>): Promise<T>
  /** Calls the adapter with what is not inside of a transaction; not there where there is no adapter. */
  outside?(): Promise<unknown>
}

interface Inside {
  /** What the adapter under test made of the transaction. */
  tx: Connection
  /** Inserts an order by the library's own means, in that transaction. */
  addOrder: (id: number) => Promise<unknown>
  /** Runs a statement by the library's own means, in that transaction. */
  run: (text: string) => Promise<unknown>
}

export type OpenLibrary = (url: string) => Library | Promise<Library>

class Undo extends Error {}

const text = z.object({ text: z.string() })

const sendReceipt = defineJob({ name: 'send-receipt', args: text, perform: () => undefined })
const onlyOnce = defineJob({ name: 'only-once', args: text, unique: { for: '1h' }, perform: () => undefined })
/** The column's name looks like placeholders of every kind; the keys need every kind of quoting. */
const archive = defineOperation({
  name: 'archive',
  table: 'orders',
  args: text,
  cursor: [`or"der $1 ?, \\`, 'id'],
  perform: async () => undefined,
})

/** Texts that a driver or a query builder may take for something else. */
const odd = [
  `it's`,
  '"quoted"',
  String.raw`back\slash \? \n`,
  '?',
  '$1 $2',
  '{a,b}',
  '[1]',
  'null',
  ':name ??',
  'ünï 😀',
]

/** Jobs and operations in the transaction of one library: exist when it commits, and only then. */
export function describeConnection(name: string, open: OpenLibrary, { adapted = true } = {}): void {
  describe(name, () => {
    let db: TestDatabase
    let sluice: Sluice
    let library: Library

    beforeAll(async () => {
      db = await testDatabase()
      await db.query(`create table orders ("or""der $1 ?, \\" text not null default 'x', id bigint not null,
        primary key ("or""der $1 ?, \\", id))`)
      await db.query(`do $$ begin create role test_nobody; exception when others then null; end $$`)
      await db.query('grant test_nobody to test_worker')
      sluice = new Sluice({ database: db.workerUrl })
      library = await open(db.workerUrl)
    })

    afterAll(async () => {
      await library?.[Symbol.asyncDispose]()
      await sluice?.stop()
      await db?.[Symbol.asyncDispose]()
    })

    const orders = (): Promise<number> => db.value('select count(*)::int from orders')
    const recorded = (): Promise<number> =>
      db.value(`select (select count(*) from sluice.job)::int + (select count(*) from sluice.job_lock)::int
        + (select count(*) from sluice.operation)::int + (select count(*) from orders)::int`)

    /** Runs in a transaction that is then rolled back. */
    async function undone<T>(work: (inside: Inside) => Promise<T>): Promise<T> {
      let result: T | undefined
      const rolledBack = library.transaction(async (inside) => {
        result = await work(inside)
        throw new Undo()
      })
      await expect(rolledBack).rejects.toThrow(Undo)
      return result as T
    }

    test('a rollback leaves neither job nor operation, and no unique key taken', async () => {
      const before = await recorded()
      const { once, many, started } = await undone(async ({ tx, addOrder }) => {
        await addOrder(1)
        return {
          once: await sluice.jobs.enqueue(onlyOnce, { text: 'a' }, { tx }),
          many: await sluice.jobs.enqueueMany(sendReceipt, [{ text: 'b' }, { text: 'c' }], { tx, in: '1h' }),
          started: await sluice.operations.start(archive, { text: 'd' }, { tx }),
        }
      })
      expect([once, ...many, started].map(({ duplicate }) => duplicate)).toEqual([false, false, false, false])
      expect(await recorded()).toBe(before)
      await expect(sluice.jobs.get(once.id)).rejects.toMatchObject({ code: 'JOB_NOT_FOUND' })
      await expect(sluice.operations.get(started.id)).rejects.toMatchObject({ code: 'OPERATION_NOT_FOUND' })
    })

    test('a commit makes the job exist, with the order', async () => {
      const before = await orders()
      const { id } = await library.transaction(async ({ tx, addOrder }) => {
        await addOrder(2)
        const enqueued = await sluice.jobs.enqueue(sendReceipt, { text: 'a' }, { tx, priority: 'high', tags: ['x'] })
        await expect(sluice.jobs.get(enqueued.id)).rejects.toMatchObject({ code: 'JOB_NOT_FOUND' })
        return enqueued
      })
      const expected = {
        id,
        name: 'send-receipt',
        state: 'waiting',
        args: { text: 'a' },
        priority: 'high',
        tags: ['x'],
      }
      expect(await sluice.jobs.get(id)).toMatchObject(expected)
      expect(await orders()).toBe(before + 1)
    })

    test('a taken unique key is told, with the job that has it', async () => {
      const committed = await library.transaction(async ({ tx }) => {
        const first = await sluice.jobs.enqueue(onlyOnce, { text: 'u' }, { tx })
        const again = await sluice.jobs.enqueue(onlyOnce, { text: 'u' }, { tx })
        expect(first.duplicate).toBe(false)
        expect(again).toEqual({ id: first.id, duplicate: true })
        return first
      })
      const later = await library.transaction(({ tx }) =>
        sluice.jobs.enqueueMany(onlyOnce, [{ text: 'u' }, { text: 'v' }, { text: 'v' }], { tx }),
      )
      expect(later.map(({ duplicate }) => duplicate)).toEqual([true, false, true])
      expect(later[0]?.id).toBe(committed.id)
      expect(later[2]?.id).toBe(later[1]?.id)
    })

    test('args come out as they went in', async () => {
      const enqueued = await library.transaction(({ tx }) =>
        sluice.jobs.enqueueMany(
          sendReceipt,
          odd.map((one) => ({ text: one })),
          { tx },
        ),
      )
      const stored = await Promise.all(enqueued.map(({ id }) => sluice.jobs.get(id)))
      expect(stored.map(({ args }) => args)).toEqual(odd.map((one) => ({ text: one })))
    })

    test('a commit makes the operation exist; it sees the rows of its transaction', async () => {
      const { id } = await library.transaction(async ({ tx, addOrder }) => {
        await addOrder(900)
        return sluice.operations.start(archive, { text: odd.join() }, { tx, tenant: `o'"hara`, actor: '$1' })
      })
      expect(await sluice.operations.get(id)).toMatchObject({
        name: 'archive',
        state: 'queued',
        args: { text: odd.join() },
        tenant: `o'"hara`,
        actor: '$1',
      })
      expect(
        await db.query(
          'select cursor_columns, cursor_types, lower_key, carve_end from sluice.operation where id = $1',
          [id],
        ),
      ).toEqual([
        {
          cursor_columns: [`or"der $1 ?, \\`, 'id'],
          cursor_types: ['text', 'bigint'],
          lower_key: null,
          carve_end: ['x', '900'],
        },
      ])
    })

    test('an operation takes keys of any text, and tells an equal one', async () => {
      for (const key of ['', 'NULL', '{}', ...odd]) {
        const options = { min: [key, 1], max: [`${key}z`, 2] }
        const [first, again] = await library.transaction(async ({ tx }) => [
          await sluice.operations.start(archive, { text: key }, { ...options, tx }),
          await sluice.operations.start(archive, { text: key }, { ...options, tx }),
        ])
        expect(again).toMatchObject({ id: first?.id, duplicate: true })
        const query = 'select lower_key, carve_end from sluice.operation where id = $1'
        expect(await db.query(query, [first?.id])).toEqual([{ lower_key: [key, '1'], carve_end: [`${key}z`, '2'] }])
      }
    })

    test('args that do not fit are refused before anything is sent: the transaction goes on', async () => {
      const before = await orders()
      await library.transaction(async ({ tx, addOrder }) => {
        const wrong = { text: 5 } as never
        await expect(sluice.jobs.enqueue(sendReceipt, wrong, { tx })).rejects.toMatchObject({ code: 'ARGS_INVALID' })
        await addOrder(3)
      })
      expect(await orders()).toBe(before + 1)
    })

    test('what the database says about it comes through with its code', async () => {
      const [failed, afterwards] = await undone(async ({ tx, run }) => {
        await expect(run('select 1 / 0')).rejects.toThrow()
        const enqueue = (): Promise<unknown> => sluice.jobs.enqueue(sendReceipt, { text: 'a' }, { tx })
        return [await enqueue().catch((error: unknown) => error), await tx.query('select 1', []).catch(codeOf)]
      })
      expect(failed).toMatchObject({ code: '25P02', message: expect.stringContaining('transaction is aborted') })
      expect(afterwards).toBe('25P02')
    })

    test('a database without our schema is told as such', async () => {
      await using elsewhere = new Sluice({ database: db.workerUrl, schema: 'elsewhere' })
      const failed = await undone(({ tx }) =>
        elsewhere.jobs.enqueue(sendReceipt, { text: 'a' }, { tx }).catch((error: unknown) => error),
      )
      expect(failed).toMatchObject({ code: 'SCHEMA_MISSING', cause: { code: '3F000' } })
    })

    test('a role without rights is told as such', async () => {
      const failed = await undone(async ({ tx, run }) => {
        await run('set local role test_nobody')
        return sluice.jobs.enqueue(sendReceipt, { text: 'a' }, { tx }).catch((error: unknown) => error)
      })
      expect(failed).toMatchObject({ code: 'PERMISSION_DENIED', cause: { code: '42501' } })
    })

    test('rows, counts and values of every kind go through', async () => {
      const answers = await undone(async ({ tx }) => [
        await tx.query('select $1::int as n, $2::text as t, $3::boolean as b, $4::text as nothing, $1::int + 1 as m', [
          7,
          `a'?`,
          true,
          null,
        ]),
        await tx.query(
          String.raw`select $1::text[] = array['a,b', '"', '\', '', null] as texts, $2::int[] = array[1, 2] as numbers`,
          [
            ['a,b', '"', '\\', '', null],
            [1, 2],
          ],
        ),
        await tx.query(`select '{"a": 1}'::jsonb ? 'a' as has, $1::text as "? $1"`, ['b']),
        await tx.query(
          `select '{"a": 1}'::jsonb ? 'a' as has, '$1' as one, "or""der $1 ?, \\" from orders limit 0`,
          [],
        ),
        await tx.query(`insert into orders (id) select generate_series(1000, 1002) returning id::int`, []),
      ])
      expect(answers.map(({ rows }) => rows)).toEqual([
        [{ n: 7, t: `a'?`, b: true, nothing: null, m: 8 }],
        [{ texts: true, numbers: true }],
        [{ has: true, '? $1': 'b' }],
        [],
        [{ id: 1000 }, { id: 1001 }, { id: 1002 }],
      ])
      expect(answers.map(({ rowCount }) => rowCount)).toEqual([1, 1, 1, 0, 3])
    })

    if (!adapted) return

    test('what is not inside of a transaction is refused', async () => {
      await expect(library.outside?.()).rejects.toThrow('inside of a transaction')
    })
  })
}

function codeOf(error: unknown): unknown {
  return (error as { code?: unknown }).code
}
