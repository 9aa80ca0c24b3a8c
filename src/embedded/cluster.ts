import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { lchown, mkdtemp, open, readFile, readdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { SluiceError } from '../errors.ts'
import { type Account, runAs } from './account.ts'
import type { Binaries } from './binaries.ts'
import { environment } from './environment.ts'
import { reasonOf } from './errno.ts'
import type { Folder } from './folder.ts'
import { writePrivate } from './private-file.ts'

export const user = 'postgres'

/** What a cluster is made with. */
export interface Making {
  folder: Folder
  binaries: Binaries
  account: Account | undefined
  /** False when the server will not sync either, as in tests. */
  sync: boolean
}

/** Makes the cluster if there is none. It is made under another name and then renamed, so it is there whole or not. */
export async function ensureCluster(making: Making): Promise<void> {
  const { folder, binaries } = making
  await sweep(folder.root)
  if ((await versionOf(folder)) === undefined) await create(making)
  const found = await versionOf(folder)
  if (found === binaries.major) return
  throw new SluiceError('EMBEDDED_BROKEN', {
    message:
      `${folder.root} holds a cluster of PostgreSQL ${found}, but the binaries are PostgreSQL ${binaries.major}, which ` +
      `cannot open it. Install binaries of version ${found}, or give another dataDir (or remove this one, with its data).`,
    details: { dataDir: folder.root, found, binaries: binaries.major },
  })
}

export async function readPassword(folder: Folder): Promise<string> {
  const password = await readFile(folder.password, 'utf8').catch(() => '')
  if (password !== '') return password.trim()
  throw new SluiceError('EMBEDDED_BROKEN', {
    message:
      `The password file ${folder.password} of the embedded PostgreSQL is missing or empty. ` +
      `Restore it, or remove ${folder.root}, with its data, to start afresh.`,
    details: { file: folder.password },
  })
}

async function versionOf(folder: Folder): Promise<number | undefined> {
  const text = await readFile(join(folder.data, 'PG_VERSION'), 'utf8').catch(() => undefined)
  return text === undefined ? undefined : Number(text.trim())
}

async function create({ folder, binaries, account, sync }: Making): Promise<void> {
  const fresh = await mkdtemp(join(folder.root, 'cluster.new-'))
  const password = join(fresh, 'password')
  await writePrivate(password, `${randomBytes(24).toString('base64url')}\n`, account)
  if (account !== undefined) await lchown(fresh, account.uid, account.gid)
  const flags = initdbArguments(join(fresh, 'data'), password, binaries.major)
  const options = {
    ...runAs(account),
    cwd: fresh,
    env: environment(),
    timeout: 120_000,
    killSignal: 'SIGKILL',
  } as const
  try {
    await promisify(execFile)(binaries.initdb, sync ? flags : [...flags, '--no-sync'], options)
    await rename(fresh, folder.cluster)
    await syncFolder(folder.root)
  } catch (cause) {
    // Someone who thought us dead may have made one meanwhile; theirs is as good.
    if ((await versionOf(folder)) === undefined) throw initdbFailed(folder, cause)
  } finally {
    await rm(fresh, { recursive: true, force: true })
  }
}

export function initdbArguments(data: string, password: string, major: number): string[] {
  // The builtin provider sorts alike on every system; before 17 only the plain C locale does.
  const provider = major >= 17 ? ['--locale-provider=builtin', '--builtin-locale=C.UTF-8'] : []
  return [
    `--pgdata=${data}`,
    `--username=${user}`,
    `--pwfile=${password}`,
    '--auth=scram-sha-256',
    '--encoding=UTF8',
    '--locale=C',
    ...provider,
    '--no-instructions',
  ]
}

/** Removes what a killed start left. Its initdb may still be writing; then the rest goes with the next start. */
async function sweep(root: string): Promise<void> {
  const left = (await readdir(root)).filter((name) => name.startsWith('cluster.new-'))
  for (const name of left) await rm(join(root, name), { recursive: true, force: true }).catch(() => undefined)
}

/** So that a power cut cannot undo the rename after data has been committed below it. */
async function syncFolder(root: string): Promise<void> {
  if (process.platform === 'win32') return
  const handle = await open(root, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

function initdbFailed(folder: Folder, cause: unknown): SluiceError {
  const output = cause instanceof Error && 'stderr' in cause ? String(cause.stderr).trim() : ''
  const reason = output.split('\n').at(-1) || reasonOf(cause)
  const advice = reason.includes('user does not exist')
    ? 'Run as a user that /etc/passwd names, or set DATABASE_URL to a PostgreSQL server of your own'
    : 'Correct the cause or give another dataDir; nothing was left behind'
  return new SluiceError('EMBEDDED_BROKEN', {
    message: `PostgreSQL could not make a cluster in ${folder.root}: ${reason}. ${advice}.`,
    details: { dataDir: folder.root, output },
    cause,
  })
}
