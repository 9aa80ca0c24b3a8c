import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { cancel, codeOf, sleep, startRig, until, type Client, type Rig } from '../support/fault-proxy/rig.ts'

let rig: Rig

beforeAll(async () => {
  rig = await startRig()
})

afterAll(() => rig.stop())

beforeEach(() => rig.emptyLedger())

const pid = (client: Client): Promise<unknown> => client.value('select pg_backend_pid()')

describe('transaction pooling', () => {
  test('session state is not there in the next transaction', async () => {
    await using proxy = await rig.proxy()
    const pooling = proxy.pooling('transaction', { backends: 2 })
    await using client = await rig.connect(proxy)
    await using _other = await rig.connect(proxy)
    await client.query(`set application_name = 'mine'`)
    expect(await client.value('show application_name')).not.toBe('mine')
    await client.query('listen news')
    expect((await client.query('select pg_listening_channels()')).rowCount).toBe(0)
    await client.query({ name: 'one', text: 'select 1' })
    expect(await codeOf(client.query({ name: 'one', text: 'select 1' }))).toBe('26000')
    expect(pooling.hits).toBeGreaterThan(2)
  })

  test('two clients share one backend, and a transaction stays on one', async () => {
    await using proxy = await rig.proxy()
    proxy.pooling('transaction', { backends: 1 })
    await using first = await rig.connect(proxy)
    await using second = await rig.connect(proxy)
    expect(await pid(first)).toBe(await pid(second))
    await first.query('begin')
    const waiting = pid(second)
    expect(await Promise.race([waiting, sleep(50)])).toBe('silence')
    const inside = await pid(first)
    await first.query('commit')
    expect(await waiting).toBe(inside)
  })

  test('with several backends every transaction sees only one of them', async () => {
    await using proxy = await rig.proxy()
    proxy.pooling('transaction', { backends: 3 })
    const clients = await Promise.all([1, 2, 3, 4, 5].map(() => rig.connect(proxy)))
    const seen = new Set<unknown>()
    const work = async (client: Client): Promise<void> => {
      for (let round = 0; round < 20; round += 1) {
        await client.query('begin')
        const own = await client.value('select pg_backend_pid() where $1', [true])
        expect(await pid(client)).toBe(own)
        await client.query('commit')
        seen.add(own)
      }
    }
    await Promise.all(clients.map(work))
    expect(seen.size).toBe(3)
    await Promise.all(clients.map((client) => client.end()))
  })

  test('a client that dies in mid-transaction does not poison the pool', async () => {
    await using proxy = await rig.proxy()
    proxy.pooling('transaction', { backends: 2 })
    await using dying = await rig.connect(proxy, { application_name: 'dying' })
    await using living = await rig.connect(proxy)
    await dying.query('begin; insert into ledger values (1)')
    proxy.cut('rst', { which: ({ applicationName }) => applicationName === 'dying' })
    for (let id = 1; id <= 5; id += 1) await living.query('insert into ledger values ($1)', [id])
    expect(await rig.ledger()).toEqual([1, 2, 3, 4, 5])
  })

  test('a client left without any backend is told to connect anew', async () => {
    await using proxy = await rig.proxy()
    proxy.pooling('transaction', { backends: 1 })
    await using client = await rig.connect(proxy)
    const backend = await pid(client)
    await rig.direct.query('select pg_terminate_backend($1)', [backend])
    const alive = 'select count(*)::int from pg_stat_activity where pid = $1'
    await until(async () => (await rig.direct.value(alive, [backend])) === 0)
    await sleep(50)
    expect(await codeOf(client.query('select 1'))).toBe('08P01')
    await using next = await rig.connect(proxy)
    expect(await next.value('select 1')).toBe(1)
  })

  test('start-up options are refused and cancel requests find the borrowed backend', async () => {
    await using proxy = await rig.proxy()
    proxy.pooling('transaction', { backends: 1 })
    expect(await codeOf(rig.connect(proxy, { options: '-c work_mem=1MB' }))).toBe('08P01')
    await using _first = await rig.connect(proxy)
    await using second = await rig.connect(proxy)
    await second.query('begin')
    const sleeping = codeOf(second.query('select pg_sleep(30)'))
    const active = `select count(*)::int from pg_stat_activity where state = 'active' and query = 'select pg_sleep(30)'`
    await until(async () => (await rig.direct.value(active)) === 1)
    await cancel(proxy, second)
    expect(await sleeping).toBe('57014')
    await second.query('rollback')
  })

  test('a lost COMMIT answer leaves the backend in the pool', async () => {
    await using proxy = await rig.proxy()
    proxy.pooling('transaction', { backends: 1 })
    await using first = await rig.connect(proxy)
    await using second = await rig.connect(proxy)
    const backend = await pid(second)
    const lost = proxy.dropAnswerTo(/^commit/, { times: 1, ending: 'rst' })
    await first.query('begin; insert into ledger values (1)')
    await expect(first.query('commit')).rejects.toThrow()
    expect(await pid(second)).toBe(backend)
    expect(await rig.ledger()).toEqual([1])
    expect(lost.hits).toBe(1)
  })
})
