import { access, chmod, constants, lchown, mkdir, readdir, realpath, stat, statfs } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { SluiceError } from '../errors.ts'
import type { Account, Tenure } from './account.ts'
import { errnoOf, reasonOf } from './errno.ts'
import { blockingFolder, waysTo } from './reach.ts'

/** Where everything of one server lives. */
export interface Folder {
  root: string
  cluster: string
  data: string
  password: string
  port: string
  log: string
}

/** A fresh cluster takes 40 MB and its log at least 16 MB more; below this, the first real work fills the disk. */
const neededMb = 200

/** What an interrupted first start, a mount point or a repository may have left there. */
const expected =
  /^(cluster\.new-.*|starting\..*|port(\.[0-9a-f]+)?|server\.log(\.old)?|lost\+found|\.gitignore|\.gitkeep|\.DS_Store)$/

/** Names the folder's parts and refuses one that cannot serve, before anything is written. */
export async function locate(dataDir: string): Promise<Folder> {
  const root = await canonical(resolve(dataDir))
  const folder = layout(root)
  const found = await stat(root).catch(() => undefined)
  if (found !== undefined && !found.isDirectory()) {
    throw refuse(root, 'is a file, not a folder', 'Give another dataDir, or move that file away')
  }
  if (found !== undefined && (found.mode & 0o1000) !== 0) {
    throw refuse(root, 'is shared by all users of this system', 'Give a folder below it')
  }
  const present = found === undefined ? [await nearest(root)] : [root, folder.cluster, folder.data]
  for (const path of present) await checkAccess(path)
  if (found !== undefined) await checkContent(folder)
  return folder
}

function layout(root: string): Folder {
  const cluster = join(root, 'cluster')
  return {
    root,
    cluster,
    data: join(cluster, 'data'),
    password: join(cluster, 'password'),
    port: join(root, 'port'),
    log: join(root, 'server.log'),
  }
}

export async function tenureOf(folder: Folder): Promise<Tenure | undefined> {
  const data = await stat(folder.data).catch(() => undefined)
  const found = data ?? (await stat(folder.root).catch(() => undefined))
  return found && { uid: found.uid, gid: found.gid, settled: data !== undefined }
}

/** Makes the folder ready for a server that runs as `account`: enough space, within reach, private. */
export async function prepare(folder: Folder, account: Account | undefined): Promise<void> {
  const { root } = folder
  await checkSpace(root)
  const blocked = account && (await blockingFolder(root, account))
  if (blocked !== undefined) {
    throw new SluiceError('EMBEDDED_FOLDER', {
      message:
        `PostgreSQL does not run as root, and "${account?.name}", whom it runs as instead, cannot enter ${blocked} on ` +
        `the way to ${root}. Give a dataDir outside of ${blocked}, or start as an ordinary user.`,
      details: { dataDir: root, blocked, account: account?.name },
    })
  }
  try {
    await makeFolders(root, account)
  } catch (cause) {
    throw refuse(
      root,
      `cannot be made ready (${reasonOf(cause)})`,
      'Give another dataDir, or correct its permissions',
      cause,
    )
  }
}

async function makeFolders(root: string, account: Account | undefined): Promise<void> {
  const first = await mkdir(root, { recursive: true, mode: 0o755 })
  if (first !== undefined && account !== undefined) {
    // Under a narrow umask the folders in between would shut out the account that we drop to.
    for (const folder of waysTo(root).filter((path) => path.startsWith(first))) await chmod(folder, 0o755)
  }
  await chmod(root, 0o700)
  if (account !== undefined) await lchown(root, account.uid, account.gid)
}

/** PostgreSQL writes the path into postmaster.pid; one folder must have one name, however it was reached. */
async function canonical(path: string): Promise<string> {
  const existing = await nearest(path)
  return join(await realpath(existing), path.slice(existing.length))
}

async function nearest(path: string): Promise<string> {
  const found = await stat(path).catch(() => undefined)
  return found !== undefined || dirname(path) === path ? path : nearest(dirname(path))
}

async function checkAccess(path: string): Promise<void> {
  try {
    await access(path, constants.R_OK | constants.W_OK | constants.X_OK)
  } catch (cause) {
    if (errnoOf(cause) === 'ENOENT') return
    const who = process.getuid === undefined ? 'this user' : `this user (uid ${process.getuid()})`
    throw refuse(
      path,
      `cannot be written by ${who}`,
      'Give another dataDir, or correct its owner and permissions',
      cause,
    )
  }
}

/** We set the folder's owner and mode, so a folder that someone uses for other things must not pass by mistake. */
async function checkContent({ root }: Folder): Promise<void> {
  const names = await readdir(root)
  if (names.includes('cluster')) return
  const foreign = names.filter((name) => !expected.test(name))
  if (foreign.length === 0) return
  const some = foreign.slice(0, 3).join(', ')
  throw refuse(root, `holds other files (${some})`, 'Give an empty folder, or one that does not exist yet')
}

async function checkSpace(root: string): Promise<void> {
  const lack = lackOfSpace(root, await statfs(await nearest(root)))
  if (lack !== undefined) throw lack
}

export function lackOfSpace(
  root: string,
  { bavail, bsize }: { bavail: number; bsize: number },
): SluiceError | undefined {
  const freeMb = Math.floor((bavail * bsize) / 1_000_000)
  if (freeMb >= neededMb) return undefined
  return refuse(root, `has ${freeMb} MB of free space; ${neededMb} MB are needed`, 'Free some, or give another dataDir')
}

function refuse(path: string, what: string, advice: string, cause?: unknown): SluiceError {
  const message = `The data folder for the embedded PostgreSQL cannot be used: ${path} ${what}. ${advice}.`
  return new SluiceError('EMBEDDED_FOLDER', { message, details: { path }, cause })
}
