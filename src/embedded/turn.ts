import { randomBytes } from 'node:crypto'
import { readdir, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { SluiceError } from '../errors.ts'
import { isAlive } from './processes.ts'

/** Longer than the longest start: two minutes for initdb and one for the server. */
const patienceMs = 200_000
const beatMs = 1_000
/** A holder that has not been heard of for so long is gone, even if its number is in use again. */
const silenceMs = 10_000

/** Only one process at a time starts the server of a folder. */
export interface Turn {
  release(): Promise<void>
}

/**
 * Waits for our turn. Everyone puts up a file of their own name *before* looking for others, so two cannot both find
 * themselves alone; and since no name is used twice, anyone may take down a dead process's file without a race.
 */
export async function takeTurn(folder: string): Promise<Turn> {
  const giveUpAt = Date.now() + patienceMs
  for (;;) {
    const turn = await tryTurn(folder)
    if (turn !== undefined) return turn
    if (Date.now() > giveUpAt) throw busy(folder)
    await sleep(20 + Math.random() * 80)
  }
}

async function tryTurn(folder: string): Promise<Turn | undefined> {
  if ((await claims(folder)).length > 0) return undefined
  const own = `starting.${process.pid}.${randomBytes(6).toString('hex')}`
  const path = join(folder, own)
  await writeFile(path, '', { flag: 'wx', mode: 0o600 })
  const rivals = (await claims(folder)).filter((name) => name !== own)
  if (rivals.length === 0) return hold(path)
  await rm(path, { force: true })
  return undefined
}

function hold(path: string): Turn {
  const beat = setInterval(() => {
    // If the file is gone, others may start too; PostgreSQL's own lock and the rename of the cluster hold them off.
    utimes(path, new Date(), new Date()).catch(() => undefined)
  }, beatMs)
  beat.unref()
  return {
    async release() {
      clearInterval(beat)
      await rm(path, { force: true })
    },
  }
}

/** The names of those who start, or want to; what the dead left behind is removed. */
async function claims(folder: string): Promise<string[]> {
  const living: string[] = []
  for (const name of await readdir(folder)) {
    const pid = Number(/^starting\.(\d+)\.[0-9a-f]+$/.exec(name)?.[1] ?? Number.NaN)
    if (Number.isNaN(pid)) continue
    const found = await stat(join(folder, name)).catch(() => undefined)
    if (found === undefined) continue
    if (isClaimed(isAlive(pid), Date.now() - found.mtimeMs)) living.push(name)
    else await rm(join(folder, name), { force: true })
  }
  return living
}

export const isClaimed = (alive: boolean, silentMs: number): boolean => alive && silentMs < silenceMs

function busy(folder: string): SluiceError {
  return new SluiceError('EMBEDDED_BUSY', {
    message:
      `Another process has been starting PostgreSQL in ${folder} for more than ${patienceMs / 1000} s. ` +
      'Wait for it or end it, then start again.',
    details: { dataDir: folder },
  })
}
