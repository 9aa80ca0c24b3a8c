import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import { errnoOf } from './errno.ts'

/** Whether a process has this number: a zombie does, and so may an unrelated process. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return errnoOf(error) === 'EPERM'
  }
}

/** The command line of a process: empty for a zombie, `undefined` where the system cannot be asked. */
export async function commandOf(pid: number): Promise<string | undefined> {
  if (process.platform === 'win32') return undefined
  if (process.platform === 'linux') {
    const text = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')
    return text.replaceAll('\0', ' ')
  }
  const options = { timeout: 5_000 }
  const { stdout } = await promisify(execFile)('ps', ['-ww', '-o', 'command=', '-p', String(pid)], options).catch(
    () => ({
      stdout: '',
    }),
  )
  return stdout
}
