// What a worker process says while its database is away.
import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { testDatabase } from '../support/database.ts'
import { startFaultProxy } from '../support/fault-proxy/index.ts'
import { until } from '../support/wait.ts'
import { spawnWorker } from '../support/worker.ts'

/** A server that hangs up on everybody, and how often it did. */
async function refusingServer(): Promise<{ port: number; refused: () => number } & AsyncDisposable> {
  let refused = 0
  const server = createServer((socket) => {
    refused += 1
    socket.on('error', () => undefined)
    socket.destroy()
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return { port, refused: () => refused, [Symbol.asyncDispose]: async () => void server.close() }
}

interface Line {
  event: string
  purpose?: string
  message?: string
  leftOut?: number
}

const parse = (line: string): Line => (line.startsWith('{') ? (JSON.parse(line) as Line) : { event: line })

test('a worker process tells of an outage in a few lines, however often it tries to connect', async () => {
  await using db = await testDatabase()
  await using refusing = await refusingServer()
  const { hostname: host, port } = new URL(db.workerUrl)
  await using proxy = await startFaultProxy({ host, port: Number(port) })
  await using worker = await spawnWorker({
    url: proxy.url(db.workerUrl),
    operations: `const operations = [expire({ name: 'old', table: 'nothing', olderThan: '1 day', by: 'at' })]`,
    jobs: `const jobs = [defineJob({ name: 'plain', perform: () => undefined })]`,
    schedules: `const schedules = [defineSchedule({ name: 'tick', cron: '* * * * * *', job: jobs[0] })]`,
  })
  await worker.events.event('worker.started')
  const before = worker.stderr.length
  proxy.lead({ host: '127.0.0.1', port: refusing.port })
  proxy.cut('rst')
  await until('it has tried often', () => refusing.refused() >= 60)
  const [attempts, lines] = [refusing.refused(), worker.stderr.slice(before)]

  const lost = lines.map(parse)
  const byPurpose: Record<string, number> = {}
  for (const { purpose = '' } of lost.filter(({ event }) => event === 'connection.lost')) {
    byPurpose[purpose] = (byPurpose[purpose] ?? 0) + 1
  }
  expect(Object.keys(byPurpose).length).toBeGreaterThan(1)
  // The first of each purpose, and one a minute for all of them.
  for (const told of Object.values(byPurpose)) expect(told).toBeLessThanOrEqual(3)
  const warned = lost.flatMap(({ event, message }) => (event === 'warning' ? [message] : []))
  expect(new Set(warned).size).toBe(warned.length)
  expect(lines.length).toBeLessThan(attempts / 2)

  proxy.lead({ host, port: Number(port) })
  await worker.events.event('connection.restored')
  expect(worker.stderr.map(parse).some(({ leftOut = 0 }) => leftOut > 0)).toBe(true)
})
