import pg from 'pg'
import { beforeAll, describe, expect, inject, test } from 'vitest'
import { grantsScript, Sluice } from '../../src/index.ts'
import { run, withDatabase } from '../support/cluster.ts'
import { testDatabase } from '../support/database.ts'

async function as<T>(url: string, role: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    await client.query(`set role ${role}`)
    return await work(client)
  } finally {
    await client.end()
  }
}

describe('the narrow roles', () => {
  let url: string
  beforeAll(async () => {
    const db = await testDatabase()
    url = db.url
    return () => db[Symbol.asyncDispose]()
  })

  test.each([
    ['sluice_worker', 'create table sluice.mine (a int)'],
    ['sluice_worker', 'drop table sluice.batch'],
    ['sluice_worker', 'alter table sluice.batch add column x int'],
    ['sluice_worker', `insert into sluice.migration (version, name, compatible) values (99, 'x', true)`],
    ['sluice_worker', 'delete from sluice.batch_history'],
    ['sluice_worker', `update sluice.operation_history set status = 'finished'`],
    ['sluice_enqueue', 'delete from sluice.operation'],
    ['sluice_enqueue', `update sluice.operation set status = 'held'`],
    ['sluice_enqueue', 'insert into sluice.batch_history select * from sluice.batch_history'],
    ['sluice_enqueue', 'select sluice.create_history_partitions(4)'],
    ['sluice_dashboard', 'delete from sluice.operation'],
    [
      'sluice_dashboard',
      `insert into sluice.worker (id, host, pid, version, operations) values (gen_random_uuid(), '', 0, '', '{}')`,
    ],
  ])('%s may not: %s', async (role, statement) => {
    await expect(as(url, role, (client) => client.query(statement))).rejects.toMatchObject({ code: '42501' })
  })

  test.each([
    ['sluice_worker', 'select sluice.create_history_partitions(5)'],
    ['sluice_enqueue', 'select count(*) from sluice.operation'],
    ['sluice_dashboard', 'select count(*) from sluice.batch_history'],
    ['sluice_migrator', 'alter table sluice.batch add column x int; alter table sluice.batch drop column x'],
  ])('%s may: %s', async (role, statement) => {
    await expect(as(url, role, (client) => client.query(statement))).resolves.toBeDefined()
  })
})

test('the script can be run before the first migration and again at any time, and then the migrator migrates', async () => {
  await run(inject('clusterUrl'), 'drop database if exists granted with (force)')
  await run(inject('clusterUrl'), 'create database granted')
  const url = withDatabase(inject('clusterUrl'), 'granted')
  await run(url, grantsScript('sluice'))
  await run(
    url,
    `do $$ begin create role test_migrator login password 'm'; exception when duplicate_object then null; end $$; grant sluice_migrator to test_migrator`,
  )
  const asMigrator = new URL(url)
  asMigrator.username = 'test_migrator'
  asMigrator.password = 'm'
  await using sluice = new Sluice({ database: asMigrator.href })
  expect((await sluice.migrate()).applied.length).toBeGreaterThan(0)
  await run(url, grantsScript('sluice'))
  await run(url, grantsScript('sluice'))
})

test('another schema has roles of its own name', () => {
  const script = grantsScript('other')
  expect(script).toContain('other_worker')
  expect(script).not.toMatch(/\bsluice[._]/)
})
