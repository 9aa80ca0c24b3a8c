import { createHash, randomBytes } from 'node:crypto'
import { chmod, cp, lstat, mkdir, readdir, rename, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { SluiceError } from '../errors.ts'
import type { Account } from './account.ts'
import { makeLinks } from './links.ts'
import { blockingFolder } from './reach.ts'

/**
 * A copy of the binaries, with their links, that the server's account can read. Copies are kept, one for each release,
 * in a folder that only this user (or root) can write: else others on the machine could plant a program for us to run.
 */
export async function cachedBinaries(source: string, account: Account | undefined): Promise<string> {
  const shelf = await openShelf(account)
  const copy = join(shelf, await nameOf(source))
  if (!(await complete(source, copy))) await replace(source, copy)
  await makeLinks(copy)
  return copy
}

async function openShelf(account: Account | undefined): Promise<string> {
  const uid = process.getuid?.() ?? 0
  const shelf = join(tmpdir(), `sluice-postgres-${uid}`)
  await mkdir(shelf, { recursive: true, mode: account === undefined ? 0o700 : 0o755 })
  const found = await lstat(shelf)
  const safe =
    found.isDirectory() && (process.platform === 'win32' || (found.uid === uid && (found.mode & 0o022) === 0))
  const blocked = account && (await blockingFolder(join(shelf, 'x'), account))
  if (safe && blocked === undefined) return shelf
  const reason = safe ? `"${account?.name}" cannot enter ${blocked}` : `another user owns it or can write to it`
  throw new SluiceError('EMBEDDED_FOLDER', {
    message:
      `PostgreSQL's binaries cannot be copied to ${shelf}: ${reason}. ` +
      'Remove that folder, or set TMPDIR to a folder that is yours and that others can read.',
    details: { folder: shelf, blocked },
  })
}

/** Another release or another installation gets another name. Size and time stand for the content of 10 MB. */
async function nameOf(source: string): Promise<string> {
  const names = await readdir(join(source, 'bin'))
  const server = names.find((name) => name.startsWith('postgres')) ?? 'postgres'
  const { size, mtimeMs } = await stat(join(source, 'bin', server))
  return createHash('sha256').update(`${source}\n${size}\n${mtimeMs}`).digest('hex').slice(0, 16)
}

/** Cleaners of temporary folders take single files away by their age, so each one is looked at. */
async function complete(source: string, copy: string): Promise<boolean> {
  const names = await readdir(source, { recursive: true })
  const same = await Promise.all(
    names.map(async (name) => {
      const [original, copied] = await Promise.all([source, copy].map((root) => sizeOf(join(root, name))))
      return original === undefined || original === copied
    }),
  )
  return same.every(Boolean)
}

const sizeOf = (path: string): Promise<number | undefined> =>
  stat(path).then(
    (found) => (found.isFile() ? found.size : 0),
    () => undefined,
  )

async function replace(source: string, copy: string): Promise<void> {
  const fresh = `${copy}.new-${randomBytes(6).toString('hex')}`
  try {
    await cp(source, fresh, { recursive: true, verbatimSymlinks: true })
    await openUp(fresh)
    await makeLinks(fresh)
    await swap(fresh, copy)
  } finally {
    await rm(fresh, { recursive: true, force: true })
  }
  if (await complete(source, copy)) return
  throw new SluiceError('EMBEDDED_BROKEN', {
    message: `PostgreSQL's binaries could not be copied to ${copy}. Remove that folder and start again.`,
    details: { source, copy },
  })
}

async function swap(fresh: string, copy: string): Promise<void> {
  // Whoever copies at the same time makes the same thing: the slower one leaves it in place.
  const taken = await rename(fresh, copy).then(
    () => false,
    () => true,
  )
  if (!taken || (await complete(fresh, copy))) return
  await rename(copy, `${fresh}-old`).catch(() => undefined)
  await rename(fresh, copy).catch(() => undefined)
  await rm(`${fresh}-old`, { recursive: true, force: true })
}

/** The shelf decides who gets in; below it, all is readable, whatever umask the package was installed with. */
async function openUp(folder: string): Promise<void> {
  await chmod(folder, 0o755)
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const own = entries.filter((entry) => !entry.isSymbolicLink())
  await Promise.all(
    own.map(async (entry) => {
      const path = join(entry.parentPath, entry.name)
      const runs = entry.isDirectory() || ((await stat(path)).mode & 0o100) !== 0
      await chmod(path, runs ? 0o755 : 0o644)
    }),
  )
}
