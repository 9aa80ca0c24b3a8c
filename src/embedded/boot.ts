import { type ChildProcess, spawn } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { SluiceError } from '../errors.ts'
import { type Account, runAs } from './account.ts'
import type { Binaries } from './binaries.ts'
import { environment } from './environment.ts'
import type { Folder } from './folder.ts'
import { type Fault, diagnose, openLog, readLog } from './log.ts'
import { answers } from './port.ts'
import { readPostmaster } from './postmaster.ts'
import { serverArguments } from './settings.ts'

const limitMs = 60_000

/** What a server is started with. */
export interface Launch {
  folder: Folder
  binaries: Binaries
  account: Account | undefined
  settings: Readonly<Record<string, string>>
}

/** A running server that this process started. */
export interface Started {
  child: ChildProcess
  pid: number
  port: number
}

/** Spawns the server, detached from us, and waits until it takes connections or ends. */
export async function launch(
  { folder, binaries, account, settings }: Launch,
  port: number,
): Promise<Started | { fault: Fault }> {
  const log = await openLog(folder.log, account)
  const before = (await log.stat()).size
  const child = spawn(binaries.postgres, serverArguments(folder.data, port, settings), {
    ...runAs(account),
    cwd: folder.root,
    env: environment(),
    detached: true,
    windowsHide: true,
    stdio: ['ignore', log.fd, log.fd],
  })
  child.unref()
  const refused = new Promise<Error>((resolve) => void child.once('error', resolve))
  await log.close()
  const { pid } = child
  if (pid === undefined) return { fault: { kind: 'other', reason: (await refused).message, log: '' } }
  if (await becomesReady(child, folder)) return { child, pid, port }
  return { fault: diagnose(await readLog(folder.log, before)) }
}

async function becomesReady(child: ChildProcess, folder: Folder): Promise<boolean> {
  const giveUpAt = Date.now() + limitMs
  while (Date.now() < giveUpAt) {
    if (hasEnded(child)) return false
    const server = await readPostmaster(folder.data)
    if (server?.pid === child.pid && server?.status === 'ready' && (await answers(server.port))) return true
    await sleep(20)
  }
  // Ending it here would have crash recovery begin anew at the next start, and perhaps never finish.
  throw new SluiceError('EMBEDDED_BUSY', {
    message:
      `PostgreSQL (process ${child.pid}) was not ready after ${limitMs / 1000} s; it may be recovering from a crash. ` +
      `It goes on: start again to attach to it, or see ${folder.log}.`,
    details: { pid: child.pid, log: folder.log },
  })
}

export const hasEnded = (child: ChildProcess): boolean => child.exitCode !== null || child.signalCode !== null
