import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { startFaultProxy, type FaultProxy } from '../support/fault-proxy/index.ts'
import { bind, execute, message, parse, query } from '../support/fault-proxy/messages.ts'
import { cancel, codeOf, exchange, sleep, startRig, until, type Client, type Rig } from '../support/fault-proxy/rig.ts'

let rig: Rig

beforeAll(async () => {
  rig = await startRig()
})

afterAll(() => rig.stop())

beforeEach(() => rig.emptyLedger())

const sync = message('S')
const runs = (text: string): Buffer => Buffer.concat([parse(text), bind(), execute('')])
const copyRow = (row: string): Buffer => Buffer.concat([message('d', Buffer.from(`${row}\n`)), message('c')])

/** pg reports an error before the server has said in which state it leaves the session. */
const statusIs = (proxy: FaultProxy, status: string): Promise<void> =>
  until(async () => proxy.links[0]?.status === status)

/** The next fault strikes its own statement and no other: the proxy knows who is being answered. */
async function expectStillInStep(proxy: FaultProxy, client: Client): Promise<void> {
  using fault = proxy.answer('55P03', { to: /^select 'struck'/ })
  expect(await client.value(`select 'spared'`)).toBe('spared')
  expect(await codeOf(client.query(`select 'struck'`))).toBe('55P03')
  expect(await client.value(`select 'spared'`)).toBe('spared')
  expect(fault.hits).toBe(1)
}

describe('without faults', () => {
  test('simple, extended and named statements pass unchanged', async () => {
    await using proxy = await rig.proxy()
    await using client = await rig.connect(proxy, { application_name: 'worker-1' })
    expect(await client.value(`select 'grüße'`)).toBe('grüße')
    expect(await client.value('select $1::int + 1', [41])).toBe(42)
    for (const n of [1, 2]) {
      const { rows } = await client.query({ name: 'twice', text: 'select 2 * $1::int as n', values: [n] })
      expect(rows).toEqual([{ n: 2 * n }])
    }
    expect(await codeOf(client.query('select 1/0'))).toBe('22012')
    expect(await client.value('show application_name')).toBe('worker-1')
    expect(proxy.links).toMatchObject([{ id: 1, applicationName: 'worker-1', statements: 6, status: 'I' }])
  })

  test('ten thousand rows and one row of 20 MB arrive whole', async () => {
    await using proxy = await rig.proxy()
    await using client = await rig.connect(proxy)
    const { rows } = await client.query<{ n: number }>('select n from generate_series(1, 10000) n')
    expect(rows.map(({ n }) => n)).toEqual(Array.from({ length: 10_000 }, (_, i) => i + 1))
    const large = 'x'.repeat(20_000_000)
    expect((await client.value('select $1::text', [large])) === large).toBe(true)
  })

  test('copying in is left alone, in both protocols', async () => {
    await using proxy = await rig.proxy()
    proxy.answer('40001', { to: /^never/ })
    await using client = await rig.connect(proxy)
    const text = 'copy ledger from stdin'
    expect(await exchange(client, query(text), copyRow('1'))).toEqual(['COPY 1'])
    // The server overlooks the first Sync, which it reads while copying.
    const extended = Buffer.concat([runs(text), sync])
    expect(await exchange(client, extended, Buffer.concat([copyRow('2'), sync]))).toEqual(['COPY 1'])
    await expect(exchange(client, extended, Buffer.concat([copyRow('x'), sync]))).rejects.toThrow('invalid input')
    await expectStillInStep(proxy, client)
    expect(await rig.ledger()).toEqual([1, 2])
  })

  test('a cancel request reaches the server', async () => {
    await using proxy = await rig.proxy()
    await using client = await rig.connect(proxy)
    const pid = await client.value('select pg_backend_pid()')
    const sleeping = codeOf(client.query('select pg_sleep(30)'))
    const active = `select count(*)::int from pg_stat_activity where pid = $1 and query ~ 'pg_sleep'`
    await until(async () => (await rig.direct.value(active, [pid])) === 1)
    await cancel(proxy, client)
    expect(await sleeping).toBe('57014')
  })

  test('a server that is down ends the connection attempt', async () => {
    await using proxy = await startFaultProxy({ host: '127.0.0.1', port: 1 })
    await expect(rig.connect(proxy)).rejects.toThrow()
  })

  test('stop ends all connections on both sides', async () => {
    const proxy = await rig.proxy()
    const client = await rig.connect(proxy, { application_name: 'stopped' })
    const ended = new Promise((resolve) => client.once('end', resolve))
    await proxy.stop()
    await ended
    const sessions = `select count(*)::int from pg_stat_activity where application_name = 'stopped'`
    await until(async () => (await rig.direct.value(sessions)) === 0)
    expect(proxy.links).toEqual([])
  })
})

describe('a lost answer', () => {
  test.each(['rst', 'fin'] as const)('COMMIT is done, the client gets an error (%s)', async (ending) => {
    await using proxy = await rig.proxy()
    await using client = await rig.connect(proxy)
    const lost = proxy.dropAnswerTo(/^commit/i, { times: 1, ending })
    const hit = lost.next()
    await client.query('begin')
    await client.query('insert into ledger values (1)')
    await expect(client.query('COMMIT')).rejects.toThrow()
    expect(await rig.ledger()).toEqual([1])
    expect(await hit).toMatchObject({ text: 'COMMIT', tag: 'COMMIT', link: { id: 1 } })
    await using next = await rig.connect(proxy)
    await next.query('begin; commit')
    await next.query('commit')
    expect(lost.hits).toBe(1)
  })

  test('a hanging connection stays silent after the statement was executed', async () => {
    await using proxy = await rig.proxy()
    await using client = await rig.connect(proxy)
    const lost = proxy.dropAnswerTo(/^insert/, { ending: 'hang' })
    const insert = codeOf(client.query('insert into ledger values (1)'))
    await lost.next()
    expect(await rig.ledger()).toEqual([1])
    expect(await Promise.race([insert, sleep(50)])).toBe('silence')
  })

  test('unnamed and named statements of the extended protocol are known by their text', async () => {
    await using proxy = await rig.proxy()
    const lost = proxy.dropAnswerTo(/^insert/, { every: 2, ending: 'rst' })
    const text = 'insert into ledger values ($1)'
    await using unnamed = await rig.connect(proxy)
    await unnamed.query(text, [1])
    await expect(unnamed.query(text, [2])).rejects.toThrow()
    await using named = await rig.connect(proxy)
    await named.query({ name: 'add', text, values: [3] })
    await expect(named.query({ name: 'add', text, values: [4] })).rejects.toThrow()
    expect(await rig.ledger()).toEqual([1, 2, 3, 4])
    expect(lost.hits).toBe(2)
  })

  test('a statement that fails on the server is reported as such', async () => {
    await using proxy = await rig.proxy()
    await using client = await rig.connect(proxy)
    const hit = proxy.dropAnswerTo(/^insert/, { ending: 'rst' }).next()
    await rig.direct.query('insert into ledger values (1)')
    await expect(client.query('insert into ledger values ($1)', [1])).rejects.toThrow()
    expect(await hit).toMatchObject({ error: '23505' })
  })
})

describe('an injected error', () => {
  const forms = [
    ['simple', (client: Client, id: number) => client.query(`insert into ledger values (${id})`)],
    ['extended', (client: Client, id: number) => client.query('insert into ledger values ($1)', [id])],
  ] as const

  test.each(forms)('stands for the %s statement, outside and inside a transaction', async (_form, insert) => {
    await using proxy = await rig.proxy()
    await using client = await rig.connect(proxy)
    const refusal = proxy.answer('40001', { to: /^insert/, times: 2 })
    expect(await codeOf(insert(client, 1))).toBe('40001')
    await statusIs(proxy, 'I')
    await client.query('begin')
    expect(await codeOf(insert(client, 2))).toBe('40001')
    await statusIs(proxy, 'E')
    expect(await codeOf(client.query('select 1'))).toBe('25P02')
    await client.query('rollback')
    await insert(client, 3)
    expect(await rig.ledger()).toEqual([3])
    expect(refusal.hits).toBe(2)
  })

  test.each([[[]], [[1]]])('a COMMIT that fails has rolled back (%j)', async (values) => {
    await using proxy = await rig.proxy()
    await using client = await rig.connect(proxy)
    proxy.answer('40001', { to: /^commit/, times: 1 })
    await client.query('begin; insert into ledger values (1)')
    const config = values.length > 0 ? { name: 'commit', text: 'commit' } : { text: 'commit' }
    expect(await codeOf(client.query(config))).toBe('40001')
    await statusIs(proxy, 'I')
    expect(await client.value('select count(*)::int from ledger')).toBe(0)
  })

  test('a fatal code ends the connection and its transaction', async () => {
    await using proxy = await rig.proxy()
    await using client = await rig.connect(proxy)
    const shutdown = proxy.answer('57P01', { to: /^update/, times: 1 })
    await client.query('begin; insert into ledger values (1)')
    const ended = new Promise((resolve) => client.once('end', resolve))
    expect(await codeOf(client.query('update ledger set id = 2'))).toBe('57P01')
    await ended
    expect(await rig.ledger()).toBeNull()
    expect(shutdown.hits).toBe(1)
  })

  test('a connection can be refused, and only of those chosen', async () => {
    await using proxy = await rig.proxy()
    const full = proxy.answer('53300', {
      to: 'connect',
      times: 1,
      which: ({ applicationName }) => applicationName === 'late',
    })
    await using early = await rig.connect(proxy)
    expect(await early.value('select 1')).toBe(1)
    expect(await codeOf(rig.connect(proxy, { application_name: 'late' }))).toBe('53300')
    await using late = await rig.connect(proxy, { application_name: 'late' })
    expect(await late.value('select 1')).toBe(1)
    expect(full.hits).toBe(1)
  })

  test('an error amid statements sent ahead undoes those before and skips those after, up to Sync', async () => {
    await using proxy = await rig.proxy()
    await using client = await rig.connect(proxy)
    const refusal = proxy.answer('40P01', { to: /values \(2\)/ })
    const first = runs('insert into ledger values (1)')
    const struck = runs('insert into ledger values (2)')
    const last = runs('insert into ledger values (3)')
    expect(await codeOf(exchange(client, Buffer.concat([first, struck, last, sync])))).toBe('40P01')
    expect(await rig.ledger()).toBeNull()
    await expectStillInStep(proxy, client)
    expect(await exchange(client, Buffer.concat([first, last, sync]))).toEqual(['INSERT 0 1', 'INSERT 0 1'])
    expect(await rig.ledger()).toEqual([1, 3])
    expect(refusal.hits).toBe(1)
  })

  test('a statement that the server refuses by itself is no hit', async () => {
    await using proxy = await rig.proxy()
    await using client = await rig.connect(proxy)
    const refusal = proxy.answer('40001', { to: /^insert/, times: 1 })
    expect(await codeOf(client.query('insert into nowhere values ($1)', [1]))).toBe('42P01')
    expect(refusal.hits).toBe(0)
    expect(await codeOf(client.query('insert into ledger values ($1)', [1]))).toBe('40001')
    expect(refusal.hits).toBe(1)
  })
})
