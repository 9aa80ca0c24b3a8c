import { readdir, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { type Account, permits } from './account.ts'

/** The folders on the way to `path`, outermost first, without `path` itself. */
export function waysTo(path: string): string[] {
  const parent = dirname(path)
  return parent === path ? [] : [...waysTo(parent), parent]
}

/** The first folder on the way to `path` that the account cannot enter. Folders that do not exist yet do not block. */
export async function blockingFolder(path: string, account: Account): Promise<string | undefined> {
  for (const folder of waysTo(path)) {
    const found = await stat(folder).catch(() => undefined)
    if (found !== undefined && !permits(found, account, 1)) return folder
  }
  return undefined
}

/** Whether the account can get to a folder, list it, and read everything in it. */
export async function reachable(folder: string, account: Account): Promise<boolean> {
  if ((await blockingFolder(join(folder, 'x'), account)) !== undefined) return false
  const names = await readdir(folder, { recursive: true })
  const readable = await Promise.all(
    names.map(async (name) => {
      const found = await stat(join(folder, name)).catch(() => undefined)
      // A link without a target is for links.ts to repair; it says nothing about permissions.
      return found === undefined || permits(found, account, found.isDirectory() ? 5 : 4)
    }),
  )
  return readable.every(Boolean)
}
