import { describe, expect, inject, test } from 'vitest'
import { Sluice, type SluiceConfig } from '../../src/index.ts'
import {
  durabilityFindings,
  isolationFinding,
  poolerFinding,
  primaryFinding,
  runtimeFinding,
  serverFinding,
  skewFinding,
} from '../../src/observe/doctor.ts'
import { rightsOf } from '../../src/store/rights.ts'
import { missingRights } from '../../src/store/server.ts'
import { run, withDatabase } from '../support/cluster.ts'
import { onClient, testDatabase } from '../support/database.ts'
import { openClient } from '../support/jobs.ts'
import { startFaultProxy } from '../support/fault-proxy/index.ts'
import { setOddly } from '../support/odd-settings.ts'

describe('each finding that is not fine says what to do', () => {
  const on = { fsync: 'on', full_page_writes: 'on', synchronous_commit: 'on' }

  test.each([
    ['an old Node.js', [runtimeFinding('20.18.1')], 'problem', 'Node.js 20.19'],
    ['an old server', [serverFinding({ version: '13.9', version_num: 130_009 })], 'problem', 'PostgreSQL 14'],
    ['a replica', [primaryFinding({ in_recovery: true, read_only: 'off' })], 'problem', 'primary'],
    ['read-only transactions', [primaryFinding({ in_recovery: false, read_only: 'on' })], 'problem', 'read_only'],
    ['a pooler', [poolerFinding(true)], 'warning', 'session mode'],
    ['another isolation', [isolationFinding({ isolation: 'serializable' })], 'warning', 'read committed'],
    ['a skewed clock', [skewFinding(-90_000)], 'warning', 'NTP'],
    ['fsync off', durabilityFindings({ ...on, fsync: 'off' }), 'problem', 'fsync = on'],
    ['asynchronous commits', durabilityFindings({ ...on, synchronous_commit: 'off' }), 'warning', 'synchronous_commit'],
  ] as const)('%s', (_, [finding], level, remedy) => {
    expect(finding).toMatchObject({ level, remedy: expect.stringContaining(remedy) })
  })

  test.each([
    [runtimeFinding('20.19.0')],
    [runtimeFinding('24.1.0')],
    [serverFinding({ version: '14.23', version_num: 140_023 })],
    [primaryFinding({ in_recovery: false, read_only: 'off' })],
    [poolerFinding(false)],
    [isolationFinding({ isolation: 'read committed' })],
    [skewFinding(300)],
    [durabilityFindings(on)[0]],
  ])('what is fine needs no remedy: %o', (finding) => {
    expect(finding).toMatchObject({ level: 'ok' })
    expect(finding).not.toHaveProperty('remedy')
  })
})

const levels = async (database: string, config: SluiceConfig = {}): Promise<Record<string, string>> => {
  await using sluice = new Sluice({ database, ...config })
  return Object.fromEntries((await sluice.doctor()).map(({ check, level, found }) => [check, `${level}: ${found}`]))
}

test('a worker account on a migrated database has all that it needs', async () => {
  await using db = await testDatabase()
  expect(await levels(db.workerUrl)).toMatchObject({
    reachability: 'ok: connected as role "test_worker"',
    schema: expect.stringMatching(/^ok/),
    rights: 'ok: all that a worker needs',
    pooler: 'ok: direct connection',
    // The test server trades safety for speed, and is told so.
    fsync: expect.stringMatching(/^problem/),
    synchronous_commit: expect.stringMatching(/^warning/),
  })
})

test('missing rights and a missing schema are found', async () => {
  await using db = await testDatabase()
  await db.query('revoke insert on sluice.batch_history from sluice_worker')
  await db.query('revoke execute on function sluice.create_history_partitions from sluice_worker')
  expect((await levels(db.workerUrl))['rights']).toBe(
    'problem: missing: insert on sluice.batch_history; execute on sluice.create_history_partitions',
  )
  await db.query('revoke all on all tables in schema sluice from sluice_worker')
  expect((await levels(db.workerUrl))['rights']).toMatch(
    /^problem: missing: select on sluice.migration(; [a-z, ]+ on sluice.\w+){9}; and on \d+ more$/,
  )
  expect((await levels(db.url))['rights']).toMatch(/^warning: role "\w+" is a superuser$/)
  await run(inject('clusterUrl'), 'drop database if exists bare with (force)')
  await run(inject('clusterUrl'), 'create database bare')
  expect((await levels(withDatabase(inject('clusterUrl'), 'bare')))['schema']).toMatch(/^problem: no schema "sluice"/)
})

test('each right that the script gives to a worker is missed when it is not there', async () => {
  await using db = await testDatabase()
  await using client = await openClient(db.url)
  // By the server's own account of who may do what, not by the list that the check-up goes through.
  const given = await db.query<{ kind: string; object: string; name: string; right: string }>(
    `select case c.relkind when 'S' then 'sequence' else 'table' end as kind, c.oid::regclass::text as object,
       c.oid::regclass::text as name, lower(a.privilege_type) as right
     from pg_class c, aclexplode(c.relacl) a
     where c.relnamespace = 'sluice'::regnamespace and a.grantee = 'sluice_worker'::regrole
     union all
     select 'function', p.oid::regprocedure::text, split_part(p.oid::regprocedure::text, '(', 1), lower(a.privilege_type)
     from pg_proc p, aclexplode(p.proacl) a
     where p.pronamespace = 'sluice'::regnamespace and a.grantee = 'sluice_worker'::regrole`,
  )
  expect(new Set(given.map(({ object }) => object)).size).toBeGreaterThan(75)
  const overlooked: string[] = []
  for (const { kind, object, name, right } of given) {
    await client.query('begin')
    await client.query(`revoke ${right} on ${kind} ${object} from sluice_worker`)
    await client.query('set local role test_worker')
    const missing = await missingRights(onClient(client), rightsOf('worker'))
    await client.query('rollback')
    if (missing.length !== 1 || missing[0]?.missing !== `${right} on ${name}`) overlooked.push(`${right} on ${object}`)
  }
  expect(overlooked).toEqual([])
})

test('another isolation of the database or of the role is told, though our own sessions never have it', async () => {
  await using db = await testDatabase()
  expect((await levels(db.workerUrl))['isolation']).toBe('ok: transactions are read committed by default')
  await setOddly(db, 'database', { default_transaction_isolation: `'repeatable read'` })
  expect((await levels(db.workerUrl))['isolation']).toMatch(/^warning: transactions are repeatable read by default/)
  await setOddly(db, 'role', { default_transaction_isolation: `'serializable'` })
  expect((await levels(db.workerUrl))['isolation']).toMatch(/^warning: transactions are serializable by default/)
})

test('a pooler in between is told', async () => {
  await using db = await testDatabase()
  const upstream = new URL(db.url)
  await using proxy = await startFaultProxy({ host: upstream.hostname, port: Number(upstream.port) })
  proxy.pooling('transaction', { backends: 2 })
  expect((await levels(proxy.url(db.workerUrl)))['pooler']).toMatch(/^warning/)
})

test('a pooler is told, or not, as the configuration says', async () => {
  await using db = await testDatabase()
  expect((await levels(db.workerUrl, { pooler: 'transaction' }))['pooler']).toMatch(/^warning/)
  const upstream = new URL(db.url)
  await using proxy = await startFaultProxy({ host: upstream.hostname, port: Number(upstream.port) })
  proxy.pooling('session', { backends: 9 })
  expect((await levels(proxy.url(db.workerUrl), { pooler: 'none' }))['pooler']).toBe('ok: direct connection')
})
