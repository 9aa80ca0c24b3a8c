import { constants, lchown, open, readFile, rename, stat } from 'node:fs/promises'
import type { FileHandle } from 'node:fs/promises'
import type { Account } from './account.ts'

const keepBytes = 10_000_000

/** Opens the server's log for appending; a long one is put aside, so that a server in daily use cannot fill the disk. */
export async function openLog(path: string, account: Account | undefined): Promise<FileHandle> {
  const found = await stat(path).catch(() => undefined)
  if (found !== undefined && found.size > keepBytes) await rename(path, `${path}.old`)
  // As root we write into another account's folder: a link planted there must not lead us elsewhere.
  const flags = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | (constants.O_NOFOLLOW ?? 0)
  const log = await open(path, flags, 0o600)
  if (account !== undefined) await lchown(path, account.uid, account.gid)
  return log
}

export async function readLog(path: string, from: number): Promise<string> {
  const bytes = await readFile(path).catch(() => Buffer.alloc(0))
  return bytes.subarray(from).toString('utf8').trim()
}

/** Why a server did not start. */
export interface Fault {
  kind: 'port' | 'in use' | 'other'
  reason: string
  log: string
}

/** Reads the cause of a failed start from what the server wrote. */
export function diagnose(log: string): Fault {
  const lines = log.split('\n')
  const tail = lines.slice(-30).join('\n')
  const reason = lines.findLast((line) => /(FATAL|PANIC|ERROR):/.test(line)) ?? lines.at(-1) ?? ''
  const kind = /could not bind|could not create any TCP\/IP sockets/.test(log)
    ? 'port'
    : /pre-existing shared memory block|lock file .* (already exists|is empty)/.test(log)
      ? 'in use'
      : 'other'
  return { kind, reason: reason.replace(/^.*?(FATAL|PANIC|ERROR):\s*/, '').trim() || 'it said nothing', log: tail }
}
