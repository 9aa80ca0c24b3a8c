import { spawn } from 'node:child_process'
import { readFile, readdir, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import {
  clearUp,
  gone,
  ground,
  ordinary,
  ordinaryGround,
  query,
  reported,
  runs,
  settledGround,
  start,
  starter,
} from '../embedded/ground.ts'

clearUp()

const settled = settledGround()

test('a server that was killed is started again and has recovered what was committed', async () => {
  const dataDir = settled()
  const first = await start({ dataDir })
  await query(first.url, 'create table kept_0 as select generate_series(1, 1000) as n')
  process.kill(first.pid, 'SIGKILL')
  const second = await start({ dataDir })
  expect(second.started).toBe(true)
  expect(second.pid).not.toBe(first.pid)
  expect(await query(second.url, 'select count(*)::int from kept_0')).toEqual([1000])
  await first.stop()
  expect(await runs(second.pid)).toBe(true)
})

test('a server outlives its killed parent, and the next start attaches to it', async () => {
  const dataDir = settled()
  const { child, report } = await starter({ dataDir, manner: 'hold' })
  const first = await report
  expect(first.started).toBe(true)
  await query(first.url, 'create table kept_1 as select 42 as answer')
  child.kill('SIGKILL')
  const second = await start({ dataDir })
  expect(second).toMatchObject({ started: false, pid: first.pid, url: first.url })
  expect(await query(second.url, 'select answer from kept_1')).toEqual([42])
})

test('a server whose parent and then itself were killed is started again', async () => {
  const dataDir = await ordinaryGround()
  const { child, report } = await starter({ dataDir, manner: 'hold', ...ordinary })
  const first = await report
  child.kill('SIGKILL')
  process.kill(first.pid, 'SIGKILL')
  const second = await reported({ dataDir, ...ordinary })
  expect(second).toMatchObject({ started: true, port: first.port })
  expect(await query(second.url, 'select 1')).toEqual([1])
})

test('a running server does not keep its parent from ending', async () => {
  const { child, report } = await starter({ dataDir: settled() })
  const ended = new Promise((resolve) => void child.once('exit', resolve))
  const { pid } = await report
  expect(await ended).toBe(0)
  expect(await runs(pid)).toBe(true)
})

test('of several that start at once, one starts the server and the others attach to it', async () => {
  const dataDir = await ground()
  const there = [1, 2].map(() => reported({ dataDir, manner: 'hold' }))
  const here = [1, 2].map(() => start({ dataDir }))
  const all = await Promise.all([...here, ...there])
  expect(all.filter(({ started }) => started)).toHaveLength(1)
  expect(new Set(all.map(({ url, pid }) => `${pid} ${url}`)).size).toBe(1)
  expect((await readdir(dataDir)).toSorted()).toEqual(['cluster', 'port', 'server.log'])
})

test('a start that was killed while it made the cluster leaves nothing that stops the next one', async () => {
  const dataDir = await ground()
  const { child, report } = await starter({ dataDir })
  const silent = expect(report).rejects.toThrow('said nothing')
  while (!(await readdir(dataDir)).some((name) => name.startsWith('cluster.new-'))) await sleep(5)
  await sleep(100)
  child.kill('SIGKILL')
  await silent
  const server = await start({ dataDir })
  expect(server.started).toBe(true)
  expect(await query(server.url, 'select 1')).toEqual([1])
})

test('a process number that belongs to somebody else by now does not stop a start', async () => {
  const dataDir = settled()
  const first = await start({ dataDir })
  const file = join(dataDir, 'cluster', 'data', 'postmaster.pid')
  const text = await readFile(file, 'utf8')
  await first.stop()
  // Run by the server's own account: PostgreSQL ignores the numbers of other accounts by itself.
  const { uid, gid } = await stat(dataDir)
  const stranger = spawn('sleep', ['60'], { uid, gid, stdio: 'ignore' })
  try {
    await writeFile(file, text.replace(/^\d+/, String(stranger.pid)))
    const second = await start({ dataDir })
    expect(second.started).toBe(true)
    expect(await query(second.url, 'select 1')).toEqual([1])
    expect(stranger.exitCode).toBeNull()
  } finally {
    stranger.kill('SIGKILL')
    if (stranger.pid !== undefined) await gone(stranger.pid)
  }
})
