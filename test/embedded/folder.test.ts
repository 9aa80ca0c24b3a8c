import { chmod, mkdir, readFile, readdir, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { lackOfSpace } from '../../src/embedded/folder.ts'
import { clearUp, asRoot, ground, ordinary, ordinaryGround, query, refusal, start, reported, uidOf } from './ground.ts'

clearUp()

test('a path that is a file is refused and left alone', async () => {
  const dataDir = join(await ground(), 'file')
  await writeFile(dataDir, 'mine')
  const { code, message } = await refusal(start({ dataDir }))
  expect(code).toBe('EMBEDDED_FOLDER')
  expect(message).toContain(`${dataDir} is a file`)
  expect(await readFile(dataDir, 'utf8')).toBe('mine')
})

test('a folder that is used for something else is refused and left alone', async () => {
  const dataDir = await ground()
  await writeFile(join(dataDir, 'thesis.txt'), 'mine')
  const { code, message } = await refusal(start({ dataDir }))
  expect(code).toBe('EMBEDDED_FOLDER')
  expect(message).toContain('thesis.txt')
  expect((await stat(dataDir)).mode & 0o777).toBe(0o755)
  expect(await readdir(dataDir)).toEqual(['thesis.txt'])
})

test('a folder that this user cannot write is refused before anything is written', async () => {
  const parent = await ground()
  if (!asRoot) await chmod(parent, 0o555)
  const { code, message } = await reported({ dataDir: join(parent, 'data'), ...ordinary })
  expect(code).toBe('EMBEDDED_FOLDER')
  expect(message).toContain(`${parent} cannot be written by this user`)
  expect(await readdir(parent)).toEqual([])
})

test('a folder that the server’s account cannot get to is refused by the name of the one that blocks', async () => {
  const blocked = join(await ground(), 'private')
  await mkdir(blocked)
  await chmod(blocked, asRoot ? 0o700 : 0)
  const { code, message } = await refusal(start({ dataDir: join(blocked, 'project', 'data') }))
  await chmod(blocked, 0o700)
  expect(code).toBe('EMBEDDED_FOLDER')
  expect(message).toContain(blocked)
  expect(message).toContain('another dataDir'.slice(asRoot ? 8 : 0))
  expect(await readdir(blocked)).toEqual([])
})

test('a cluster of another major version is named, not touched', async () => {
  const dataDir = await ground()
  await mkdir(join(dataDir, 'cluster', 'data'), { recursive: true })
  await writeFile(join(dataDir, 'cluster', 'data', 'PG_VERSION'), '9\n')
  const { code, message } = await refusal(start({ dataDir }))
  expect(code).toBe('EMBEDDED_BROKEN')
  expect(message).toMatch(/cluster of PostgreSQL 9, but the binaries are PostgreSQL \d+/)
})

test('folders on the way are made, and those of an ordinary user stay theirs', async () => {
  const home = await ordinaryGround()
  const dataDir = join(home, 'a b', 'ü', 'data')
  const { url, pid } = await reported({ dataDir, ...ordinary })
  expect(await query(url, 'select 1')).toEqual([1])
  expect(uidOf(pid)).toBe((await stat(home)).uid)
  expect(await stat(dataDir)).toMatchObject({ uid: (await stat(home)).uid, mode: 0o40700 })
})

test('a folder that is shared by everyone is not taken over', async () => {
  const dataDir = await ground()
  await chmod(dataDir, 0o1777)
  const { code } = await refusal(start({ dataDir }))
  expect(code).toBe('EMBEDDED_FOLDER')
  expect((await stat(dataDir)).mode & 0o7777).toBe(0o1777)
})

test('a full disk is refused with its numbers', () => {
  expect(lackOfSpace('/data', { bavail: 50_000, bsize: 4096 })).toBeUndefined()
  expect(lackOfSpace('/data', { bavail: 1_000, bsize: 4096 })).toMatchObject({
    code: 'EMBEDDED_FOLDER',
    message: expect.stringContaining('/data has 4 MB of free space; 200 MB are needed'),
  })
})
