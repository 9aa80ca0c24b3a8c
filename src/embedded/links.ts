import { randomBytes } from 'node:crypto'
import { readFile, rename, stat, symlink } from 'node:fs/promises'
import { dirname, join, relative, sep } from 'node:path'
import { SluiceError } from '../errors.ts'

interface Link {
  /** The file that exists, relative to the folder of the binaries. */
  source: string
  /** The link to it that must exist too. */
  target: string
}

/**
 * Makes the library links that an npm package cannot carry (`libpq.so.5` to `libpq.so.5.18`). Two processes may do so at
 * once. Throws the file system's own error when the folder cannot be written.
 */
export async function makeLinks(binaries: string): Promise<void> {
  for (const link of await readManifest(binaries)) await makeLink(binaries, link)
}

/** Folders without a manifest, such as an installed PostgreSQL, have all the links they need. */
async function readManifest(binaries: string): Promise<Link[]> {
  const text = await readFile(join(binaries, 'pg-symlinks.json'), 'utf8').catch(() => '[]')
  const links = parseManifest(text)
  if (links !== undefined) return links
  throw new SluiceError('EMBEDDED_BROKEN', {
    message: `The list of links in ${binaries} cannot be read. Install the platform package of PostgreSQL again.`,
    details: { binaries },
  })
}

/** The manifest counts from the package's root; the folder of the binaries is its `native` folder. */
export function parseManifest(text: string): Link[] | undefined {
  const entries = parseJson(text)
  if (!Array.isArray(entries)) return undefined
  const links = entries.flatMap((entry: Partial<Link> | null) => {
    const source = inside(entry?.source)
    const target = inside(entry?.target)
    return source === undefined || target === undefined ? [] : [{ source, target }]
  })
  return links.length === entries.length ? links : undefined
}

function inside(path: unknown): string | undefined {
  if (typeof path !== 'string' || !path.startsWith('native/')) return undefined
  const steps = path.split('/').slice(1)
  return steps.includes('..') ? undefined : steps.join(sep)
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // Not JSON is not a list: the caller refuses it with the folder's name.
    return undefined
  }
}

async function makeLink(binaries: string, { source, target }: Link): Promise<void> {
  const path = join(binaries, target)
  if (await exists(path)) return
  // Renaming replaces what is there, be it another process's link or one that leads nowhere.
  const fresh = `${path}.${randomBytes(6).toString('hex')}`
  await symlink(relative(dirname(path), join(binaries, source)), fresh)
  await rename(fresh, path)
}

const exists = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  )
