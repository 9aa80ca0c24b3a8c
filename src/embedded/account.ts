import { readFile } from 'node:fs/promises'
import { SluiceError } from '../errors.ts'

/** Whom the server runs as. */
export interface Account {
  name: string
  uid: number
  gid: number
}

/** What a file says about itself that decides who may open it. */
export interface Owned {
  uid: number
  gid: number
  mode: number
}

/** Whose the folder is by now, and whether there is a cluster in it already. */
export interface Tenure {
  uid: number
  gid: number
  settled: boolean
}

/** The account to drop to when this process is root; `undefined` means "as ourselves". */
export async function chooseAccount(tenure: Tenure | undefined): Promise<Account | undefined> {
  if (process.getuid?.() !== 0) return undefined
  const account = pickAccount(tenure, await readFile('/etc/passwd', 'utf8').catch(() => ''))
  if (account !== undefined) return account
  throw new SluiceError('EMBEDDED_FORBIDDEN', {
    message:
      'PostgreSQL refuses to run as root, and this system has neither a "postgres" nor a "nobody" account to run it as. ' +
      'Start as an ordinary user, or set DATABASE_URL to a PostgreSQL server of your own.',
  })
}

/**
 * The folder's owner comes first: then a folder made by an ordinary user keeps working under sudo, and one made for
 * `nobody` keeps working when a `postgres` account appears. But initdb refuses an account that has no name.
 */
export function pickAccount(tenure: Tenure | undefined, passwd: string): Account | undefined {
  const accounts = passwd.split('\n').flatMap(parseAccount)
  if (tenure !== undefined && tenure.uid !== 0) {
    const { uid, gid, settled } = tenure
    const name = accounts.find((account) => account.uid === uid)?.name
    if (name !== undefined || settled) return { name: name ?? `uid ${uid}`, uid, gid }
  }
  return accounts.find(({ name }) => name === 'postgres') ?? accounts.find(({ name }) => name === 'nobody')
}

function parseAccount(line: string): Account[] {
  const [name, , uid, gid] = line.split(':')
  const account = { name: name ?? '', uid: Number(uid), gid: Number(gid) }
  return Number.isInteger(account.uid) && Number.isInteger(account.gid) && account.uid > 0 ? [account] : []
}

/** Whether the permission bits grant all of `wanted` (4 read, 2 write, 1 execute or enter) to the account. */
export function permits({ uid, gid, mode }: Owned, account: Account, wanted: number): boolean {
  const shift = uid === account.uid ? 6 : gid === account.gid ? 3 : 0
  return ((mode >> shift) & wanted) === wanted
}

/** The part of spawn's options that drops privileges; nothing when there is no account to drop to. */
export function runAs(account: Account | undefined): { uid?: number; gid?: number } {
  return account === undefined ? {} : { uid: account.uid, gid: account.gid }
}
