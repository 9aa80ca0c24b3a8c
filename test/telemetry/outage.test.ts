// What a worker writes to its log while its database is away.
import { PassThrough } from 'node:stream'
import { expect, test } from 'vitest'
import { defineJob, defineSchedule, expire, Sluice } from '../../src/index.ts'
import { testDatabase } from '../support/database.ts'
import { EventLog } from '../support/events.ts'
import { startFaultProxy } from '../support/fault-proxy/index.ts'
import { jobProfile } from '../support/jobs.ts'
import { until } from '../support/wait.ts'

const tidy = defineJob({ name: 'tidy', perform: () => undefined })
const old = expire({ name: 'old', table: 'notes', olderThan: '1 day', by: 'at' })
const nightly = defineSchedule({ name: 'nightly', cron: '@daily', job: tidy })

test('of a database that is away the log of a worker has a line for each purpose, not for each try', async () => {
  await using db = await testDatabase()
  const { hostname, port } = new URL(db.workerUrl)
  const proxy = await startFaultProxy({ host: hostname, port: Number(port) })
  const known = { operations: [old], jobs: [tidy], schedules: [nightly] }
  await using sluice = new Sluice({ ...jobProfile(), ...known, database: proxy.url(db.workerUrl) })
  const events = new EventLog()
  sluice.onAny((event) => events.push(event))
  let log = ''
  const stream = new PassThrough().on('data', (chunk: Buffer) => (log += chunk.toString()))
  sluice.log({ stream, format: 'json' })
  await sluice.start()
  await proxy.stop()
  await until('each purpose has tried again and again', () => events.count('connection.lost') >= 20)

  const told = log
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { event: string; purpose: string; leftOut?: number })
    .filter(({ event, leftOut }) => event === 'connection.lost' && leftOut === undefined)
  const purposes = new Set(events.payloads('connection.lost').map(({ purpose }) => purpose))
  expect(purposes.size).toBeGreaterThan(2)
  expect(told.map(({ purpose }) => purpose)).toEqual([...purposes])
})
