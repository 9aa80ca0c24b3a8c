import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { SluiceError } from '../errors.ts'
import type { Account } from './account.ts'
import { answers } from './port.ts'
import { replacePrivate } from './private-file.ts'
import { commandOf, isAlive } from './processes.ts'

/** What `postmaster.pid` says. PostgreSQL writes it line by line, so the later ones may be missing. */
export interface Postmaster {
  pid: number
  data: string
  port: number
  status: string
}

const settleMs = 60_000
/** Above the largest process number of any system: PostgreSQL finds nobody there. */
const nobody = 2_147_483_647

export function parsePostmaster(text: string): Postmaster | undefined {
  const lines = text.split('\n').map((line) => line.trim())
  const pid = Number(lines[0])
  if (!Number.isInteger(pid) || pid <= 0) return undefined
  return { pid, data: lines[1] ?? '', port: Number(lines[3] ?? 0), status: lines[7] ?? '' }
}

/**
 * Whether the process that `postmaster.pid` names is the server of this folder. Process numbers are used again, soon so
 * in containers; the server is known by the data folder in its command line.
 */
export function isServer(server: Postmaster, data: string, command: string | undefined): boolean {
  return command === undefined ? server.data === data : command.includes(`-D ${data}`)
}

export async function readPostmaster(data: string): Promise<Postmaster | undefined> {
  const text = await readFile(join(data, 'postmaster.pid'), 'utf8').catch(() => '')
  return parsePostmaster(text)
}

/** The live server of this folder, once it answers. One that is starting or stopping is waited for. */
export async function findLive(data: string): Promise<Postmaster | undefined> {
  const giveUpAt = Date.now() + settleMs
  for (;;) {
    const server = await readPostmaster(data)
    if (server === undefined || !(await lives(server, data))) return undefined
    if (server.status === 'ready' && (await answers(server.port))) return server
    if (Date.now() > giveUpAt) throw stuck(server)
    await sleep(50)
  }
}

/**
 * Makes PostgreSQL see that a `postmaster.pid` is stale where its own test (does a process have that number?) is fooled.
 * Only the number is changed: the rest lets PostgreSQL find out whether orphaned backends still use the folder.
 */
export async function disownStale(data: string, account: Account | undefined): Promise<void> {
  const path = join(data, 'postmaster.pid')
  const text = await readFile(path, 'utf8').catch(() => undefined)
  if (text === undefined) return
  const server = parsePostmaster(text)
  if (server === undefined) await rm(path, { force: true })
  else if (isAlive(server.pid) && !(await lives(server, data))) {
    await replacePrivate(path, text.replace(/^\d+/, String(nobody)), account)
  }
}

async function lives(server: Postmaster, data: string): Promise<boolean> {
  return isAlive(server.pid) && isServer(server, data, await commandOf(server.pid))
}

function stuck({ pid, data, port, status }: Postmaster): SluiceError {
  return new SluiceError('EMBEDDED_BUSY', {
    message:
      `Process ${pid} runs PostgreSQL on ${data}, but after ${settleMs / 1000} s it is still "${status}" and does not ` +
      `answer on port ${port}. It may be recovering from a crash: try again, or end process ${pid} first.`,
    details: { pid, data, port, status },
  })
}
