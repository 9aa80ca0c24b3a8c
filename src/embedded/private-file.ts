import { randomBytes } from 'node:crypto'
import { lchown, open, rename } from 'node:fs/promises'
import type { Account } from './account.ts'

/**
 * Writes a new file that only the server's account (and root) can read. It never follows a link: as root we write into
 * a folder that belongs to another account.
 */
export async function writePrivate(path: string, text: string, account: Account | undefined): Promise<void> {
  const file = await open(path, 'wx', 0o600)
  try {
    await file.writeFile(text)
    await file.sync()
  } finally {
    await file.close()
  }
  if (account !== undefined) await lchown(path, account.uid, account.gid)
}

/** The same, in place of what was there. */
export async function replacePrivate(path: string, text: string, account: Account | undefined): Promise<void> {
  const fresh = `${path}.${randomBytes(6).toString('hex')}`
  await writePrivate(fresh, text, account)
  await rename(fresh, path)
}
