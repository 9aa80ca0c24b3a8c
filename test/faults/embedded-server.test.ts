import { mkdtemp, readFile, readdir, rm, stat } from 'node:fs/promises'
import { type Server, connect, createServer } from 'node:net'
import { networkInterfaces, tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type EmbeddedPostgres, startEmbedded } from '../../src/embedded/index.ts'
import { commandOf, isAlive } from '../../src/embedded/processes.ts'
import { clearUp, asRoot, ground, query, refusal, settledGround, start, uidOf } from '../embedded/ground.ts'

clearUp()

describe('a fresh server', () => {
  let server: EmbeddedPostgres
  beforeAll(async () => {
    server = await startEmbedded({ dataDir: await mkdtemp(join(tmpdir(), 'sluice-embedded-')) })
  })
  afterAll(async () => {
    await server.stop()
    await rm(server.dataDir, { recursive: true, force: true })
  })

  test('answers at its URL, in UTF-8, and keeps its promises to the disk', async () => {
    expect(server.started).toBe(true)
    expect(await query(server.url, 'show server_encoding')).toEqual(['UTF8'])
    expect(await query(server.url, 'show fsync')).toEqual(['on'])
    expect(await query(server.url, 'show synchronous_commit')).toEqual(['on'])
    expect(await query(server.url, `select lower('ÄÖÜ')`)).toEqual(['äöü'])
  })

  test('never runs as root', () => {
    expect(uidOf(server.pid)).not.toBe(0)
    if (!asRoot) expect(uidOf(server.pid)).toBe(process.getuid?.())
  })

  test('lets nobody in without the password', async () => {
    const wrong = server.url.replace(/:[^:@]+@/, ':wrong@')
    const none = server.url.replace(/:[^:@]+@/, '@')
    await expect(query(wrong, 'select 1')).rejects.toThrow(/password authentication failed/)
    await expect(query(none, 'select 1')).rejects.toThrow(/password/)
    const rules = await query(server.url, 'select distinct auth_method from pg_hba_file_rules')
    expect(rules).toEqual(['scram-sha-256'])
  })

  test('listens on the loopback address only', async () => {
    expect(await query(server.url, 'show listen_addresses')).toEqual(['127.0.0.1'])
    expect(await query(server.url, 'show unix_socket_directories')).toEqual([''])
    const others = Object.values(networkInterfaces()).flatMap((list) => list ?? [])
    for (const { address, family, internal } of others) {
      if (family === 'IPv4' && !internal) expect(await accepts(address, server.port)).toBe(false)
    }
    expect(await accepts('127.0.0.1', server.port)).toBe(true)
  })

  test('shows its password to nobody else', async () => {
    const password = new URL(server.url).password
    expect(password.length).toBeGreaterThanOrEqual(32)
    expect((await stat(server.dataDir)).mode & 0o777).toBe(0o700)
    const holders: string[] = []
    for (const entry of await readdir(server.dataDir, { recursive: true, withFileTypes: true })) {
      const path = join(entry.parentPath, entry.name)
      if (!entry.isFile() || !(await readFile(path, 'latin1')).includes(password)) continue
      holders.push(path.slice(server.dataDir.length + 1))
      expect((await stat(path)).mode & 0o077).toBe(0)
    }
    expect(holders).toEqual([join('cluster', 'password')])
    expect(await commandOf(server.pid)).not.toContain(password)
  })

  test('is attached to by a second start, which cannot stop it', async () => {
    const second = await startEmbedded({ dataDir: server.dataDir })
    expect(second).toMatchObject({ started: false, pid: server.pid, url: server.url })
    await second.stop()
    await second.stop('immediate')
    expect(isAlive(server.pid)).toBe(true)
  })

  test('is not moved to another port while it runs', async () => {
    const { code, message } = await refusal(startEmbedded({ dataDir: server.dataDir, port: server.port - 1 }))
    expect(code).toBe('EMBEDDED_BUSY')
    expect(message).toContain(String(server.port))
  })
})

const settled = settledGround()

test('reopening keeps the data, the port and the password', async () => {
  const dataDir = settled()
  const first = await start({ dataDir })
  await query(first.url, 'create table reopened as select 42 as answer')
  await first.stop()
  await first.stop()
  expect(isAlive(first.pid)).toBe(false)
  const second = await start({ dataDir })
  expect(second.url).toBe(first.url)
  expect(await query(second.url, 'select answer from reopened')).toEqual([42])
})

test('an immediate stop loses nothing that was committed, and the same port can be asked for again', async () => {
  const dataDir = settled()
  const first = await start({ dataDir, settings: {} })
  await query(first.url, 'create table kept as select 42 as answer')
  await first.stop('immediate')
  const second = await start({ dataDir, port: first.port })
  expect(second.started).toBe(true)
  expect(await query(second.url, 'select answer from kept')).toEqual([42])
})

test('a port that was asked for and is taken is refused by its number', async () => {
  await using listener = await listen(0)
  const { code, message } = await refusal(start({ dataDir: await ground(), port: listener.port }))
  expect(code).toBe('EMBEDDED_PORT_TAKEN')
  expect(message).toContain(`Port ${listener.port} `)
})

test('a remembered port that someone else took is given up for a free one', async () => {
  const dataDir = settled()
  const first = await start({ dataDir })
  await first.stop()
  await using _listener = await listen(first.port)
  const second = await start({ dataDir })
  expect(second.port).not.toBe(first.port)
  expect(await query(second.url, 'select 1')).toEqual([1])
})

test.each(['listen_addresses', 'hba_file', 'PORT'])('the setting %s is not the caller’s to change', async (name) => {
  const { code } = await refusal(start({ dataDir: await ground(), settings: { [name]: '*' } }))
  expect(code).toBe('EMBEDDED_FORBIDDEN')
})

test('a setting that PostgreSQL refuses fails with its own words', async () => {
  const attempt = start({ dataDir: settled(), settings: { fsync: 'off', shared_buffers: 'plenty' } })
  const { code, message } = await refusal(attempt)
  expect(code).toBe('EMBEDDED_BROKEN')
  expect(message).toContain('invalid value for parameter "shared_buffers"')
})

function accepts(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, timeout: 500 })
    for (const event of ['connect', 'error', 'timeout'] as const) {
      socket.once(event, () => {
        socket.destroy()
        resolve(event === 'connect')
      })
    }
  })
}

async function listen(port: number): Promise<AsyncDisposable & { port: number }> {
  const server: Server = createServer((socket) => socket.resume())
  await new Promise<void>((resolve) => void server.listen(port, '127.0.0.1', resolve))
  const address = server.address()
  return {
    port: typeof address === 'object' && address !== null ? address.port : port,
    [Symbol.asyncDispose]: () => new Promise((resolve) => void server.close(() => resolve())),
  }
}
