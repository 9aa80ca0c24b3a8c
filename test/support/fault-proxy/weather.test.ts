import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { codeOf, sleep, startRig, type Rig } from './rig.ts'

let rig: Rig

beforeAll(async () => {
  rig = await startRig()
})

afterAll(() => rig.stop())

beforeEach(() => rig.emptyLedger())

describe('weather', () => {
  test('results are the same when every byte comes alone', async () => {
    await using proxy = await rig.proxy()
    const chunks = proxy.chunk(1)
    await using client = await rig.connect(proxy)
    const { rows } = await client.query('select n from generate_series(1, $1::int) n', [2000])
    expect(rows).toHaveLength(2000)
    expect(chunks.hits).toBeGreaterThan(5)
  })

  test('a delay holds answers back and keeps their order', async () => {
    await using proxy = await rig.proxy()
    await using client = await rig.connect(proxy)
    const delay = proxy.delay(40, 20)
    const start = performance.now()
    const { rows } = await client.query<{ n: number }>('select n from generate_series(1, 50000) n')
    expect(performance.now() - start).toBeGreaterThan(80)
    expect(rows.every(({ n }, i) => n === i + 1)).toBe(true)
    expect(delay.hits).toBeGreaterThan(2)
  })

  test.each(['rst', 'fin'] as const)('cut by %s gives the client an error and no hang', async (how) => {
    await using proxy = await rig.proxy()
    await using struck = await rig.connect(proxy, { application_name: 'struck' })
    await using spared = await rig.connect(proxy, { application_name: 'spared' })
    const sleeping = codeOf(struck.query('select pg_sleep(30)'))
    expect(proxy.cut(how, { which: ({ applicationName }) => applicationName === 'struck' })).toBe(1)
    expect(String(await sleeping)).toMatch(how === 'rst' ? /ECONNRESET/ : /Connection terminated unexpectedly/)
    expect(await spared.value('select 1')).toBe(1)
    expect(proxy.links).toHaveLength(1)
  })

  test.each(['up', 'down', 'both'] as const)('a black hole %s leaves clients waiting until healed', async (where) => {
    await using proxy = await rig.proxy()
    await using old = await rig.connect(proxy)
    const hole = proxy.blackhole(where)
    const insert = codeOf(old.query('insert into ledger values (1)'))
    const fresh = codeOf(rig.connect(proxy, { connectionTimeoutMillis: 200 }))
    expect(await Promise.race([insert, sleep(100)])).toBe('silence')
    expect(await fresh).toMatch(/timeout/)
    expect(hole.hits).toBe(2)
    expect(await rig.ledger()).toEqual(where === 'down' ? [1] : null)
    proxy.heal()
    await using healed = await rig.connect(proxy)
    expect(await healed.value('select 1')).toBe(1)
    expect(await Promise.race([insert, sleep(50)])).toBe('silence')
  })

  test('inside a black hole the server does not hear that the client is gone, after it it does', async () => {
    await using proxy = await rig.proxy()
    const client = await rig.connect(proxy)
    await client.query('begin; lock table ledger')
    proxy.blackhole('both', { which: ({ status }) => status === 'T' })
    await Promise.race([client.end(), sleep(50)])
    expect(await codeOf(rig.direct.query(`begin; set local lock_timeout = 50; lock table ledger`))).toBe('55P03')
    await rig.direct.query('rollback')
    proxy.heal()
    await rig.direct.query('begin; lock table ledger; rollback')
  })
})
