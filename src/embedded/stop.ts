import { type ChildProcess, execFile } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { SluiceError } from '../errors.ts'
import { hasEnded } from './boot.ts'

/** `fast` ends the sessions and writes a checkpoint; `immediate` is a crash on purpose, recovered at the next start. */
export type StopMode = 'fast' | 'immediate'

interface Step {
  signal: 'SIGINT' | 'SIGQUIT' | 'SIGKILL'
  waitMs: number
}

const steps: Readonly<Record<StopMode, readonly Step[]>> = {
  fast: [
    { signal: 'SIGINT', waitMs: 30_000 },
    { signal: 'SIGQUIT', waitMs: 10_000 },
    { signal: 'SIGKILL', waitMs: 5_000 },
  ],
  immediate: [
    { signal: 'SIGQUIT', waitMs: 10_000 },
    { signal: 'SIGKILL', waitMs: 5_000 },
  ],
}

/** Ends a server that this process started, more firmly step by step, and returns when it is gone. */
export async function stopServer(child: ChildProcess, mode: StopMode, pgCtl: string, data: string): Promise<void> {
  for (const { signal, waitMs } of steps[mode]) {
    await send(child, signal, mode, [pgCtl, data])
    if (await endsWithin(child, waitMs)) return
  }
  throw new SluiceError('EMBEDDED_BROKEN', {
    message: `PostgreSQL (process ${child.pid}) does not end, not even when killed. Look at the disk it is waiting for.`,
    details: { pid: child.pid },
  })
}

async function send(child: ChildProcess, signal: Step['signal'], mode: StopMode, [pgCtl, data]: [string, string]) {
  // A child that has ended is never signalled: its number may be someone else's by now.
  if (hasEnded(child)) return
  if (process.platform !== 'win32' || signal === 'SIGKILL') child.kill(signal)
  // Windows has no signals; pg_ctl tells the server through its pipe.
  else await promisify(execFile)(pgCtl, ['stop', '-D', data, '-m', mode, '-W']).catch(() => undefined)
}

async function endsWithin(child: ChildProcess, waitMs: number): Promise<boolean> {
  const giveUpAt = Date.now() + waitMs
  while (!hasEnded(child)) {
    if (Date.now() > giveUpAt) return false
    // The child is unreferenced: this timer is what keeps the process here until it has ended.
    await sleep(20)
  }
  return true
}
