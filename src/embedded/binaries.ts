import { execFile } from 'node:child_process'
import { realpath, stat } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { SluiceError } from '../errors.ts'
import { type Account, runAs } from './account.ts'
import { cachedBinaries } from './cache.ts'
import { environment } from './environment.ts'
import { reasonOf } from './errno.ts'
import { makeLinks } from './links.ts'
import { packageMissing, platformPackage, thisMachine } from './platform.ts'
import { reachable } from './reach.ts'

/** A PostgreSQL that the server's account can run. */
export interface Binaries {
  postgres: string
  initdb: string
  pgCtl: string
  major: number
}

/** Finds the binaries, makes their links, and moves them to the cache when they cannot be used where they are. */
export async function readyBinaries(given: string | undefined, account: Account | undefined): Promise<Binaries> {
  const found = await realpath(given === undefined ? findPackage() : await checkGiven(given))
  const folder = (await usableInPlace(found, account)) ? found : await cachedBinaries(found, account)
  const postgres = program(folder, 'postgres')
  const major = await majorOf(postgres, account)
  return { postgres, initdb: program(folder, 'initdb'), pgCtl: program(folder, 'pg_ctl'), major }
}

/** The user's project is asked first: that is where the package is a dependency. Ours may be linked from elsewhere. */
function findPackage(): string {
  const name = platformPackage(thisMachine())
  for (const from of [join(process.cwd(), 'package.json'), import.meta.url]) {
    try {
      return join(dirname(createRequire(from).resolve(name)), '..', 'native')
    } catch {
      // Not found from here: the next place is asked, and after the last one the user is told what to install.
    }
  }
  throw packageMissing(name)
}

async function checkGiven(folder: string): Promise<string> {
  const wanted = [program(folder, 'postgres'), program(folder, 'initdb')]
  const found = await Promise.all(wanted.map((path) => stat(path).catch(() => undefined)))
  const missing = wanted.filter((_, index) => found[index] === undefined)
  if (missing.length === 0) return folder
  throw new SluiceError('EMBEDDED_BINARY_MISSING', {
    message:
      `There is no PostgreSQL in ${folder}: ${missing.join(' and ')} not found. ` +
      'Give a folder that has bin, lib and share, leave out `binaries`, or set DATABASE_URL to a server of your own.',
    details: { binaries: folder, missing },
  })
}

async function usableInPlace(folder: string, account: Account | undefined): Promise<boolean> {
  try {
    await makeLinks(folder)
  } catch (error) {
    if (error instanceof SluiceError) throw error
    // A folder that cannot be written is no fault of the user's; the cache takes over.
    return false
  }
  return account === undefined || (await reachable(folder, account))
}

async function majorOf(postgres: string, account: Account | undefined): Promise<number> {
  const options = { ...runAs(account), cwd: dirname(postgres), env: environment(), timeout: 20_000 }
  try {
    const { stdout } = await promisify(execFile)(postgres, ['--version'], options)
    const major = Number(/(\d+)/.exec(stdout)?.[1])
    if (major >= 14) return major
    throw new Error(`not a supported version: ${stdout.trim()}`)
  } catch (cause) {
    throw new SluiceError('EMBEDDED_BROKEN', {
      message:
        `PostgreSQL at ${postgres} cannot be run: ${reasonOf(cause)}. ` +
        'Install its platform package again, or set DATABASE_URL to a PostgreSQL server of your own.',
      details: { postgres, account: account?.name },
      cause,
    })
  }
}

const program = (folder: string, name: string): string =>
  join(folder, 'bin', process.platform === 'win32' ? `${name}.exe` : name)
